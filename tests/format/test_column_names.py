import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.format.column_names import (
    case_variants,
    find_column,
    find_path,
    match_columns,
    match_names,
    resolve_field,
)


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


@pytest.mark.parametrize("requested", [["id"], ["ID"], ["v", "id"]])
def test_column_that_a_file_has_twice_is_refused(requested):
    with pytest.raises(SchemaEvolutionError, match="f: column 'id' may be any of 2 of that name"):
        match_columns(requested, ["v", "id", "id"], source="f")
    assert match_columns(["v"], ["v", "id", "id"], source="f") == {"v": "v"}


def test_first_column_of_the_request_that_a_file_has_twice_is_named():
    names = [f"c{number}" for number in range(20)]
    with pytest.raises(SchemaEvolutionError, match="column 'c0' may be any of 2 of that name"):
        match_columns(names, names[::-1] * 2, source="f")


TWICE = pa.schema({"ts": pa.int64(), "Ts": pa.int64(), "s": pa.struct({"B": pa.int64()})})


def test_exact_name_is_found_beside_a_name_in_another_case():
    assert [find_column(name, TWICE) for name in ("ts", "Ts", "S.b", "x")] == [
        "ts",
        "Ts",
        "s",
        None,
    ]
    assert find_path("S.b", TWICE) == "s.B"


@pytest.mark.parametrize("find", [find_column, find_path])
def test_field_that_two_columns_spell_in_other_cases_is_refused(find):
    with pytest.raises(CorruptTableError, match="TS may be 'ts' or 'Ts', which differ only in"):
        find("TS", TWICE)


def test_name_that_is_longer_in_lower_case_is_found():
    schema = pa.schema({"i\u0307.x": pa.int64(), "i\u0307d": pa.struct({"x": pa.int64()})})
    assert find_path("\u0130.X", schema) == "i\u0307.x"
    assert find_path("\u0130d.X", schema) == "i\u0307d.x"


@pytest.mark.parametrize(("written", "other"), [("\u0131d", "id"), ("stra\u00dfe", "strasse")])
def test_letters_are_lowered_but_not_folded(written, other):
    # As Spark's reader of Parquet: dotless i is no i, and sharp s is not two s.
    schema = pa.schema({other: pa.int64()})
    assert find_column(written, schema) is None
    assert match_names([written], [other]) == {}
    assert case_variants([written], schema).names == []
    with pytest.raises(InvalidOptionError, match="has no column"):
        resolve_field(written, schema)


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
    assert find_path(name, schema) == expected
