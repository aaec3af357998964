from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, InvalidOptionError
from hudi_pyspark.planning.needed_columns import (
    check_ordering_fields,
    merge_columns,
    planned_columns,
    result_schema,
)
from hudi_pyspark.table.meta_columns import META_COLUMNS
from tests.reading.log_records.log_files import COMMIT_TIME, rule_of

META: list[Any] = [(name, pa.string()) for name in (*META_COLUMNS, "_hoodie_operation")]
DATA: list[Any] = [
    ("id", pa.int64()),
    ("ts", pa.int64()),
    ("s", pa.struct([("ts", pa.int64())])),
    ("dotted.name", pa.int64()),
    ("op", pa.string()),
    ("_hoodie_is_deleted", pa.bool_()),
]
TABLE = pa.schema(META + DATA)
NEEDED = ["_hoodie_record_key", "_hoodie_is_deleted", "_hoodie_operation"]


def names(columns, *, meta=True):
    return result_schema(TABLE, columns, include_meta_columns=meta).names


def test_all_columns_by_default():
    assert result_schema(TABLE, None, include_meta_columns=True) == TABLE


def test_without_meta_columns_the_operation_goes_too_but_the_flag_is_data():
    assert names(None, meta=False) == [name for name, _ in DATA]


def test_columns_come_in_the_order_asked_for():
    assert names(["ts", "_hoodie_commit_time", "id"]) == ["ts", "_hoodie_commit_time", "id"]


def test_meta_column_asked_for_by_name_is_given():
    assert names(["_hoodie_file_name"], meta=False) == ["_hoodie_file_name"]


def test_no_columns_are_no_columns():
    assert names([]) == []


def test_columns_match_in_any_case_and_are_spelled_as_in_the_table():
    assert names(["TS", "Id"]) == ["ts", "id"]


@pytest.mark.parametrize(
    ("columns", "pattern"),
    [
        (["id", "x"], "the table has no column 'x'; it has _hoodie_commit_time, "),
        (["IDs"], r"no column 'IDs' \(did you mean 'id'\?\); it has"),
        (["id", "ID"], "columns has 'id' twice: name each column once"),
    ],
)
def test_column_that_is_not_there_is_named_with_those_that_are(columns, pattern):
    with pytest.raises(InvalidOptionError, match=pattern):
        names(columns)


def test_column_that_two_spell_in_other_cases_is_refused():
    schema = pa.schema([("id", pa.int64()), ("ID", pa.int64())])
    assert result_schema(schema, ["ID"], include_meta_columns=True).names == ["ID"]
    with pytest.raises(InvalidOptionError, match="'Id' may be 'id' or 'ID', which differ only"):
        result_schema(schema, ["Id"], include_meta_columns=True)


def merged(columns, rule):
    result = pa.schema([TABLE.field(name) for name in columns])
    return planned_columns(TABLE, result, None, merge_columns(TABLE, rule, ())).working.names


@pytest.mark.parametrize(
    ("rule", "extra"),
    [
        pytest.param(rule_of(ordering_fields=["ts"]), ["ts"], id="ordering-field"),
        pytest.param(rule_of(ordering_fields=["s.ts"]), ["s"], id="nested-ordering-field"),
        pytest.param(rule_of(ordering_fields=["dotted.name"]), ["dotted.name"], id="dotted-column"),
        pytest.param(rule_of(ordering_fields=["op", "ts"]), ["op", "ts"], id="several"),
        pytest.param(rule_of(COMMIT_TIME), [], id="commit-time"),
        pytest.param(
            rule_of(COMMIT_TIME, delete_field="op", delete_marker="D"), ["op"], id="delete-marker"
        ),
        pytest.param(
            rule_of(COMMIT_TIME, delete_field="nowhere", delete_marker="D"), [], id="no-such-marker"
        ),
    ],
)
def test_merge_sees_key_flags_and_what_its_rule_needs(rule, extra):
    assert merged(["id"], rule) == ["id", *NEEDED, *extra]


def test_column_of_the_result_is_not_fetched_twice():
    rule = rule_of(ordering_fields=["ts"])
    assert merged(["ts", "_hoodie_record_key"], rule) == ["ts", *reversed(NEEDED[:1]), *NEEDED[1:]]


def test_flags_that_the_table_does_not_have_are_not_needed():
    table = pa.schema([("_hoodie_record_key", pa.string()), ("ts", pa.int64())])
    columns = planned_columns(table, pa.schema([]), None, merge_columns(table, rule_of(), ()))
    assert columns.merge == columns.working == table


def test_absent_ordering_field_is_corrupt_and_named():
    pattern = r"ordering field x\.y, s\.z \(hoodie\.table\.ordering\.fields or .*does not exist"
    with pytest.raises(CorruptTableError, match=pattern):
        check_ordering_fields(TABLE, rule_of(ordering_fields=["x.y", "ts", "S.TS", "s.z"]))
