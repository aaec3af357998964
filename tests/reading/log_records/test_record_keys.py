"""Record keys of tables without meta columns, as Hudi's key generators make them."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.reading.log_records.record_keys import record_keys, with_record_key
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        pytest.param(pa.string(), ["é", "a,b:c"], ["é", "a,b:c"], id="string"),
        pytest.param(pa.int32(), [-7, 0], ["-7", "0"], id="int"),
        pytest.param(pa.int64(), [2**63 - 1], ["9223372036854775807"], id="long"),
        pytest.param(pa.bool_(), [True, False], ["true", "false"], id="boolean"),
        pytest.param(pa.float64(), [1.0, 1e10, -0.0], ["1.0", "1.0E10", "-0.0"], id="double"),
        pytest.param(pa.float32(), [0.1], ["0.1"], id="float"),
        pytest.param(
            pa.decimal128(9, 2),
            [Decimal("-1.50"), Decimal("0.00")],
            ["-1.50", "0.00"],
            id="decimal",
        ),
        # Spark's internal values: days and microseconds since 1970.
        pytest.param(
            pa.date32(), [dt.date(1970, 1, 2), dt.date(1969, 12, 31)], ["1", "-1"], id="date"
        ),
        pytest.param(
            pa.timestamp("us", "UTC"),
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
            ["1000000"],
            id="timestamp",
        ),
    ],
)
def test_one_field_is_its_text(kind, values, expected):
    table = pa.table({"id": pa.array(values, kind)})
    assert record_keys(table, ["id"]).to_pylist() == expected


def test_several_fields_are_named_with_null_and_empty_spelt_out():
    table = pa.table({"id": ["x", "", None], "n": pa.array([None, 2, 3], pa.int32())})
    found = record_keys(table, ["id", "n"]).to_pylist()
    assert found == ["id:x,n:__null__", "id:__empty__,n:2", "id:__null__,n:3"]


def test_fields_are_named_in_the_order_of_the_key():
    table = pa.table({"a": ["1"], "b": ["2"], "c": ["3"]})
    assert record_keys(table, ["c", "a", "b"]).to_pylist() == ["c:3,a:1,b:2"]


def test_nested_field_by_its_dotted_name():
    table = pa.table({"s": [{"id": 7}], "n": [1]})
    assert record_keys(table, ["s.id"]).to_pylist() == ["7"]
    assert record_keys(table, ["n", "s.id"]).to_pylist() == ["n:1,s.id:7"]


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        pytest.param({"a": [None]}, ["a"], id="one-field-null"),
        pytest.param({"a": ["x", None], "b": ["", ""]}, ["a", "b"], id="null-and-empty"),
        pytest.param({"a": [""], "b": [None], "c": [""]}, ["a", "b", "c"], id="three-fields"),
    ],
)
def test_record_without_any_key_value_is_corrupt(columns, fields):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    message = f"a record has no value in its key fields {', '.join(fields)}"
    with pytest.raises(CorruptTableError, match=message):
        record_keys(table, fields)


@pytest.mark.parametrize("named", ["a", "b", "c"])
def test_one_key_value_is_enough(named):
    table = pa.table({name: pa.nulls(1, pa.string()) for name in "abc" if name != named})
    found = record_keys(table.append_column(named, pa.array(["x"])), ["a", "b", "c"]).to_pylist()
    assert found == [",".join(f"{n}:{'x' if n == named else '__null__'}" for n in "abc")]


def test_keys_of_no_rows():
    assert record_keys(pa.table({"a": pa.array([], pa.int64())}), ["a"]).to_pylist() == []


def test_keys_of_several_chunks():
    table = pa.table({"a": pa.chunked_array([[1], [2, 3]])})
    assert record_keys(table, ["a"]).to_pylist() == ["1", "2", "3"]


def test_record_key_column_is_filled_in_its_place():
    table = pa.table({"id": [1], RECORD_KEY_COLUMN: pa.nulls(1, pa.string()), "v": ["x"]})
    filled = with_record_key(table, ["id"])
    assert filled.schema.names == table.schema.names
    assert filled.column(RECORD_KEY_COLUMN).to_pylist() == ["1"]


def test_table_with_stored_keys_is_left_alone():
    table = pa.table({"id": [1], RECORD_KEY_COLUMN: ["stored"]})
    assert with_record_key(table, ()) is table


def test_absent_key_field_is_named():
    with pytest.raises(CorruptTableError, match="record key field 'id' does not exist"):
        record_keys(pa.table({"a": [1]}), ["id"])
