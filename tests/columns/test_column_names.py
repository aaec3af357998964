import pytest

from hudi_pyspark.columns.column_names import match_columns, match_names
from hudi_pyspark.errors import SchemaEvolutionError


@pytest.mark.parametrize(
    ("requested", "stored", "expected"),
    [
        (["id", "v"], ["v", "id"], {"id": "id", "v": "v"}),
        (["state"], ["State"], {"state": "State"}),
        (["v"], ["V", "v"], {"v": "v"}),
        (["v", "V"], ["v"], {"v": "v"}),  # a file of before the second one was added
        (["v", "V"], ["V"], {"V": "V"}),
        (["a", "b"], ["B"], {"b": "B"}),
        (["a"], ["b"], {}),
        (["\u0130d"], ["i\u0307d"], {"\u0130d": "i\u0307d"}),  # as Java's lower case
    ],
)
def test_names_match_exactly_before_they_match_without_case(requested, stored, expected):
    assert match_names(requested, stored) == expected


@pytest.mark.parametrize(
    ("requested", "stored"), [(["state"], ["State", "STATE"]), (["state", "STATE"], ["State"])]
)
def test_ambiguous_names_are_refused_with_the_file(requested, stored):
    with pytest.raises(SchemaEvolutionError, match=r"p/f\.parquet: column 'state'.*'State'"):
        match_columns(requested, stored, source="p/f.parquet")
