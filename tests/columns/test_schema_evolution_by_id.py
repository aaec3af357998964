"""Columns of old files under their present names, by the ids of the internal schema."""

import pyarrow as pa
import pytest

from hudi_pyspark.columns.schema_evolution import SchemaOnRead, conform, stored_columns
from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.format.timeline.internal_schema import (
    InternalField,
    InternalSchema,
    ListPart,
    MapPart,
    StructPart,
)


def struct(**ids):
    """Fields by name: an id, or an id and what is inside."""
    fields = []
    for name, wanted in ids.items():
        field_id, part = wanted if isinstance(wanted, tuple) else (wanted, None)
        fields.append(InternalField(field_id, name, part))
    return StructPart(tuple(fields))


def on_read(*versions):
    """Versions of the columns, oldest first, each with the instant from which on it holds."""
    schemas = tuple(InternalSchema(instant, root) for instant, root in versions)
    return SchemaOnRead(schemas[-1], schemas)


def read(schemas, table, names, instant):
    """What a file holds, under the names of the query."""
    stored = schemas.stored_names(names, instant)
    return schemas.rename(table, stored, instant).to_pydict()


# a was renamed to b at 20; c was dropped at 20 and added again, with a new id, at 30.
SCHEMAS = on_read((10, struct(a=0, c=1, d=2)), (20, struct(d=2, b=0)), (30, struct(d=2, c=3, b=0)))


@pytest.mark.parametrize(
    ("instant", "expected"),
    [
        pytest.param("009", {"b": "a", "d": "d"}, id="before-the-first-version"),
        pytest.param("010", {"b": "a", "d": "d"}, id="first-version"),
        pytest.param("019", {"b": "a", "d": "d"}, id="just-before-the-rename"),
        pytest.param("020", {"b": "b", "d": "d"}, id="from-the-rename-on"),
        pytest.param("030", {"b": "b", "c": "c", "d": "d"}, id="latest-version"),
        pytest.param("20240229010203004", {"b": "b", "c": "c", "d": "d"}, id="later"),
    ],
)
def test_columns_are_found_by_id(instant, expected):
    assert SCHEMAS.stored_names(["b", "c", "d"], instant) == expected


def test_stored_names_come_in_the_order_of_the_query():
    assert list(SCHEMAS.stored_names(["d", "b"], "010").items()) == [("d", "d"), ("b", "a")]


def test_column_that_the_internal_schema_does_not_know_keeps_its_name():
    assert SCHEMAS.stored_names(["_hoodie_record_key", "p"], "010") == {
        "_hoodie_record_key": "_hoodie_record_key",
        "p": "p",
    }


def test_without_schema_on_read_names_are_the_same():
    assert stored_columns(None, ["a", "b"], "010") == {"a": "a", "b": "b"}
    assert stored_columns(SCHEMAS, ["b"], "010") == {"b": "a"}


def test_renamed_column_of_an_old_file():
    table = pa.table({"a": [1], "c": [2], "d": [3]})
    assert read(SCHEMAS, table, ["d", "c", "b"], "010") == {"d": [3], "b": [1]}


def test_names_that_changed_places():
    schemas = on_read((10, struct(a=0, b=1)), (20, struct(a=1, b=0)))
    table = pa.table({"a": ["first"], "b": ["second"]})
    assert read(schemas, table, ["a", "b"], "010") == {"a": ["second"], "b": ["first"]}


def test_column_that_only_an_old_version_knows_keeps_its_name():
    schemas = on_read((10, struct(a=0, p=1)), (20, struct(a=0)))
    assert read(schemas, pa.table({"p": ["x"]}), ["p"], "010") == {"p": ["x"]}


def test_column_that_the_file_lacks_is_left_out():
    assert read(SCHEMAS, pa.table({"d": [3]}), ["b", "d"], "010") == {"d": [3]}


def test_rows_are_counted_where_no_column_is_left():
    table = pa.table({"d": [1, 2]})
    renamed = SCHEMAS.rename(table, SCHEMAS.stored_names(["c"], "010"), "010")
    assert (renamed.num_rows, renamed.num_columns) == (2, 0)


def test_renamed_column_takes_the_type_of_the_table_afterwards():
    table = pa.table({"a": pa.array([1, None], pa.int32())})
    renamed = SCHEMAS.rename(table, SCHEMAS.stored_names(["b"], "010"), "010")
    wanted = pa.schema([("b", pa.string()), ("c", pa.int64())])
    conformed = conform(renamed, wanted, {}, source="f")
    assert conformed.to_pydict() == {"b": ["1", None], "c": [None, None]}


# Nested fields: x was renamed to y, and z, dropped and added again, has a new id.

OLD, NEW = struct(x=1, k=2, z=3), struct(k=2, y=1, z=9)
XKZ = {"x": 1, "k": 2, "z": 3}
KY = {"k": 2, "y": 1}


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"),
    [
        pytest.param(OLD, NEW, [XKZ, None], [KY, None], id="struct"),
        pytest.param(
            ListPart(OLD), ListPart(NEW), [[XKZ], [], None, [None, XKZ]],
            [[KY], [], None, [None, KY]], id="list",
        ),
        pytest.param(
            struct(s=(5, OLD)), struct(t=(5, NEW)), [{"s": XKZ}, {"s": None}],
            [{"t": KY}, {"t": None}], id="struct-in-struct",
        ),
        pytest.param(
            ListPart(ListPart(OLD)), ListPart(ListPart(NEW)), [[[XKZ], None]], [[[KY], None]],
            id="list-in-list",
        ),
    ],
)  # fmt: skip
def test_nested_fields_are_found_by_id(old, new, values, expected):
    schemas = on_read((10, struct(c=(0, old))), (20, struct(c=(0, new))))
    table = pa.table({"c": pa.array(values)})
    assert read(schemas, table, ["c"], "010") == {"c": expected}
    assert read(schemas, table.slice(1), ["c"], "010") == {"c": expected[1:]}


def test_nested_fields_that_were_not_read_are_left_out():
    schemas = on_read((10, struct(c=(0, OLD))), (20, struct(c=(0, NEW))))
    table = pa.table({"c": pa.array([{"k": 2}, None])})
    assert read(schemas, table, ["c"], "010") == {"c": [{"k": 2}, None]}


@pytest.mark.parametrize("new", [NEW, ListPart(NEW), MapPart(NEW)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("old", [OLD, ListPart(OLD), MapPart(OLD)], ids=lambda p: type(p).__name__)
def test_column_of_another_structure_is_left_as_it_is(old, new):
    # Whether its type can be read as the table's is decided afterwards.
    of = pa.struct([(name, pa.int64()) for name in "xkz"])
    kind, value = {
        StructPart: (of, XKZ),
        ListPart: (pa.list_(of), [XKZ]),
        MapPart: (pa.map_(pa.string(), of), [("a", XKZ)]),
    }[type(old)]
    schemas = on_read((10, struct(c=(0, old))), (20, struct(c=(0, new))))
    answer = read(schemas, pa.table({"c": pa.array([value], kind)}), ["c"], "010")
    assert (answer == {"c": [value]}) is (type(old) is not type(new))


def test_nested_fields_of_map_values_are_found_by_id():
    schemas = on_read((10, struct(m=(0, MapPart(OLD)))), (20, struct(m=(0, MapPart(NEW)))))
    kind = pa.map_(pa.string(), pa.struct([(name, pa.int64()) for name in "xkz"]))
    values = [[("one", XKZ)], None, [], [("two", None), ("three", XKZ)]]
    expected = [[("one", KY)], None, [], [("two", None), ("three", KY)]]
    table = pa.table({"m": pa.array(values, kind)})
    assert read(schemas, table, ["m"], "010") == {"m": expected}
    assert read(schemas, table.slice(3), ["m"], "010") == {"m": expected[3:]}


def test_nested_fields_of_several_chunks_and_of_none():
    schemas = on_read((10, struct(c=(0, OLD))), (20, struct(c=(0, NEW))))
    table = pa.table({"c": pa.chunked_array([[XKZ], [None, XKZ]])})
    assert read(schemas, table, ["c"], "010") == {"c": [KY, None, KY]}
    assert read(schemas, table.slice(0, 0), ["c"], "010") == {"c": []}


def test_file_of_the_present_version_is_read_as_it_is():
    schemas = on_read((10, struct(c=(0, OLD))), (20, struct(c=(0, NEW))))
    table = pa.table({"c": pa.array([{"k": 2, "y": 1, "z": 4}])})
    assert read(schemas, table, ["c"], "020") == {"c": [{"k": 2, "y": 1, "z": 4}]}


@pytest.mark.parametrize("with_value", [True, False])
def test_variant_that_a_file_shreds_stays_whole_beside_a_renamed_field(with_value):
    parts = struct(metadata=5, value=6)
    schemas = on_read((10, struct(s=(0, struct(a=1, v=(2, parts))))),
                      (20, struct(s=(0, struct(b=1, v=(2, parts))))))  # fmt: skip
    variant = {"metadata": b"m", "typed_value": 1} | ({"value": b"v"} if with_value else {})
    table = pa.table({"s": pa.array([{"a": 7, "v": variant}])})
    assert read(schemas, table, ["s"], "010") == {"s": [{"b": 7, "v": variant}]}


RENAMED = on_read((10, struct(s=(0, struct(a=1, A=2)))), (20, struct(s=(0, struct(b=1, A=2)))))


def test_nested_field_in_another_case_is_not_taken_for_two_fields():
    # The file was written without the second field.
    table = pa.table({"s": [{"a": 7}]})
    assert read(RENAMED, table, ["s"], "010") == {"s": [{"b": 7}]}


def test_nested_field_that_a_file_spells_twice_is_refused():
    array = pa.StructArray.from_arrays([pa.array([7]), pa.array([8])], ["State", "STATE"])
    history = on_read((10, struct(s=(0, struct(state=1)))), (20, struct(s=(0, struct(b=1)))))
    with pytest.raises(SchemaEvolutionError, match=r"commit 010: in column 's', field 'state' may"):
        read(history, pa.table({"s": array}), ["s"], "010")
