import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.format.column_names import (
    case_variants,
    find_path,
    match_names,
    resolve_field,
)
from hudi_pyspark.format.nested_types import VARIANT


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
        match_names(requested, stored, place="p/f.parquet")


@pytest.mark.parametrize("requested", [["id"], ["ID"], ["v", "id"]])
def test_column_that_a_file_has_twice_is_refused(requested):
    with pytest.raises(SchemaEvolutionError, match="f: column 'id' may be any of 2 of that name"):
        match_names(requested, ["v", "id", "id"], place="f")
    assert match_names(["v"], ["v", "id", "id"], place="f") == {"v": "v"}


def test_first_column_of_the_request_that_a_file_has_twice_is_named():
    names = [f"c{number}" for number in range(20)]
    with pytest.raises(SchemaEvolutionError, match="column 'c0' may be any of 2 of that name"):
        match_names(names, names[::-1] * 2, place="f")


TWICE = pa.schema({"ts": pa.int64(), "Ts": pa.int64(), "s": pa.struct({"B": pa.int64()})})


def test_exact_name_is_found_beside_a_name_in_another_case():
    assert [find_path(name, TWICE) for name in ("ts", "Ts", "S.b", "x")] == [
        ("ts",),
        ("Ts",),
        ("s", "B"),
        (),
    ]


@pytest.mark.parametrize("name", ["TS", "TS.x"])
def test_field_that_two_columns_spell_in_other_cases_is_refused(name):
    with pytest.raises(CorruptTableError, match="TS may be 'ts' or 'Ts', which differ only in"):
        find_path(name, TWICE)


def test_nested_field_that_two_spell_in_other_cases_is_refused():
    schema = pa.schema({"s": pa.struct({"b": pa.int64(), "B": pa.int64()})})
    assert [find_path(name, schema) for name in ("S.b", "S.B")] == [("s", "b"), ("s", "B")]
    schema = pa.schema({"s": pa.struct({"bb": pa.int64(), "BB": pa.int64()})})
    with pytest.raises(CorruptTableError, match="Bb may be 'bb' or 'BB'"):
        find_path("s.Bb", schema)


def test_name_that_is_longer_in_lower_case_is_found():
    schema = pa.schema({"i\u0307.x": pa.int64(), "i\u0307d": pa.struct({"x": pa.int64()})})
    assert find_path("\u0130.X", schema) == ("i\u0307.x",)
    assert find_path("\u0130d.X", schema) == ("i\u0307d", "x")


@pytest.mark.parametrize(("written", "other"), [("\u0131d", "id"), ("stra\u00dfe", "strasse")])
def test_letters_are_lowered_but_not_folded(written, other):
    # As Spark's reader of Parquet: dotless i is no i, and sharp s is not two s.
    schema = pa.schema({other: pa.int64()})
    assert find_path(written, schema) == ()
    assert match_names([written], [other]) == {}
    assert case_variants([written], [other]) == {}
    with pytest.raises(InvalidOptionError, match="has no column"):
        resolve_field(written, schema)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", ()),
        ("TS", ("ts",)),
        ("ts.x", ()),
        ("S", ("s",)),
        ("S.TS", ("s", "Ts")),
        ("s.Ts", ("s", "Ts")),
        ("s.D.E", ("s", "d.e")),
        ("x.y", ()),
        ("s.z", ()),
        ("A.B", ("a.b",)),
        ("V.metadata", ()),
    ],
)
def test_path_of_a_dotted_name_is_spelled_as_in_the_schema(name, expected):
    nested = pa.struct({"Ts": pa.int64(), "d.e": pa.int64()})
    schema = pa.schema({"ts": pa.int64(), "s": nested, "a.b": pa.int64(), "v": VARIANT})
    assert find_path(name, schema) == expected


@pytest.mark.parametrize(
    ("requested", "names", "expected"),
    [
        (["id"], ["id", "x"], {"id": "id"}),
        (["id"], ["ID", "id", "Id"], {"ID": "id", "id": "id", "Id": "id"}),
        (["id", "ID"], ["Id", "ID"], {"Id": "id", "ID": "ID"}),
        ([], ["id"], {}),
    ],
)
def test_names_that_may_mean_a_requested_one_stay_together(requested, names, expected):
    assert case_variants(requested, names) == expected


def test_only_a_nested_field_has_a_dotted_name():
    schema = pa.schema({"s": pa.struct({"x": pa.int64()})})
    assert resolve_field("S.X", schema).name == "s.x"
    with pytest.raises(InvalidOptionError, match=r"the log has no column 'S\.X'.*; it has s$"):
        resolve_field("S.X", schema, owner="log", nested=False)
