import pyarrow as pa
import pytest

from hudi_pyspark.columns.file_columns import match_columns
from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.format.column_names import match_names, spelled_path


@pytest.mark.parametrize(
    ("wanted", "stored", "expected"),
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
def test_names_match_exactly_before_they_match_without_case(wanted, stored, expected):
    assert match_names(wanted, stored) == expected


@pytest.mark.parametrize(
    ("wanted", "stored"), [(["state"], ["State", "STATE"]), (["state", "STATE"], ["State"])]
)
def test_ambiguous_names_are_refused_with_the_file(wanted, stored):
    with pytest.raises(SchemaEvolutionError, match=r"p/f\.parquet: column 'state'.*'State'"):
        match_columns(wanted, stored, source="p/f.parquet")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TS", "ts"),
        ("S.TS", "s.Ts"),
        ("s.Ts", "s.Ts"),
        ("x.y", "x.y"),
        ("s.z", "s.z"),
        ("A.B", "a.b"),
    ],
)
def test_dotted_names_are_spelled_as_in_the_schema(name, expected):
    schema = pa.schema({"ts": pa.int64(), "s": pa.struct({"Ts": pa.int64()}), "a.b": pa.int64()})
    assert spelled_path(name, schema) == expected
