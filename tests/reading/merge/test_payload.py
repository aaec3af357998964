"""Each payload class by examples; tests/property has the random ones."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError
from hudi_pyspark.reading.merge.payload import DECISIONS
from hudi_pyspark.table.merge_mode import PAYLOADS, PayloadMerger, check_supported
from hudi_pyspark.table.schema import column_defaults
from tests.reading.log_records.log_files import COMMIT_TIME, EVENT_TIME, array_of, rule_of, wrapped
from tests.reading.merge.merging import Table, rule_of_table
from tests.table.tiny_table import TinyTable

MODEL = "org.apache.hudi.common.model."
PAYLOAD_STRATEGY = "00000000-0000-0000-0000-000000000000"
TOASTED = "__debezium_unavailable_value"
# What the writers of version 9 store instead of a payload class.
VERSION_9 = {
    "DefaultHoodieRecordPayload": {"mode": "EVENT_TIME_ORDERING"},
    "EventTimeAvroPayload": {"mode": "EVENT_TIME_ORDERING"},
    "OverwriteWithLatestAvroPayload": {"mode": "COMMIT_TIME_ORDERING"},
    "PartialUpdateAvroPayload": {"mode": "EVENT_TIME_ORDERING", "partial": "IGNORE_DEFAULTS"},
    "OverwriteNonDefaultsWithLatestAvroPayload": {
        "mode": "COMMIT_TIME_ORDERING",
        "partial": "IGNORE_DEFAULTS",
    },
    "AWSDmsAvroPayload": {"mode": "COMMIT_TIME_ORDERING", "marker": "Op=D"},
    "debezium.MySqlDebeziumAvroPayload": {
        "mode": "EVENT_TIME_ORDERING",
        "marker": "_change_operation_type=d",
    },
    "debezium.PostgresDebeziumAvroPayload": {
        "mode": "EVENT_TIME_ORDERING",
        "marker": "_change_operation_type=d",
        "partial": "FILL_UNAVAILABLE",
    },
}
_MODES = {
    "DefaultHoodieRecordPayload": "EVENT_TIME_ORDERING",
    "EventTimeAvroPayload": "EVENT_TIME_ORDERING",
    "OverwriteWithLatestAvroPayload": "COMMIT_TIME_ORDERING",
}


def rule_for(version, payload, ordering="ts", **defaults):
    """The rule of a table as the writers of that version describe it."""
    named = {"table__ordering__fields": ordering}
    if version < 9:
        named["compaction__payload__class"] = MODEL + payload
        if version == 8:
            named["record__merge__mode"] = _MODES.get(payload, "CUSTOM")
            named["record__merge__strategy__id"] = PAYLOAD_STRATEGY
        return rule_of_table(version, defaults, **named)
    stored = VERSION_9[payload]
    named["record__merge__mode"] = stored["mode"]
    if "partial" in stored:
        named["table__partial__update__mode"] = stored["partial"]
    if "marker" in stored:
        field, _, marker = stored["marker"].partition("=")
        prefix = "record__merge__property__hoodie__payload__delete__"
        named |= {f"{prefix}field": field, f"{prefix}marker": marker}
    return rule_of_table(version, defaults, **named)


# The same writes to tables of each payload class and version, and what Apache Hudi 1.1.1 reads.

COLUMNS = {"ts": pa.int64(), "a": pa.string(), "n": pa.int32()}
BASE = [("1", 10, "a", 1), ("2", 10, "b", 2), ("3", 10, "c", 3), ("4", 10, "d", 4)]
LATEST = [("1", 12, "a12", None), ("2", 5, "bLATE", None), ("3", 15, "c15", None)]
IN_ORDER = [("1", 12, "a12", None), ("2", 10, "b", 2), ("3", 20, None, 30)]
NON_DEFAULTS = [("1", 12, "a12", 100), ("2", 5, "bLATE", 2), ("3", 15, "c15", 30)]
FILLED = [("1", 12, "a12", 100), ("2", 10, "b", 2), ("3", 20, "c15", 30)]


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("OverwriteWithLatestAvroPayload", LATEST),
        ("DefaultHoodieRecordPayload", IN_ORDER),
        ("EventTimeAvroPayload", IN_ORDER),
        ("OverwriteNonDefaultsWithLatestAvroPayload", NON_DEFAULTS),
        ("PartialUpdateAvroPayload", FILLED),
    ],
)
def test_updates_early_and_late_with_nulls(version, payload, expected):
    table = Table(COLUMNS, rule_for(version, payload))
    table.upsert(("1", 11, None, 100), ("2", 5, "bLATE", None), ("3", 20, None, 30))
    table.upsert(("3", 15, "c15", None), ("1", 12, "a12", None), ("9", 1, None, 9))
    table.delete("4")
    assert table.merged(*BASE) == [*expected, ("9", 1, None, 9)]


@pytest.mark.parametrize(
    ("version", "payload", "expected"),
    [
        (6, "DefaultHoodieRecordPayload", [("1", 10), ("4", 20)]),
        (8, "DefaultHoodieRecordPayload", [("1", 10), ("4", 20)]),
        (9, "DefaultHoodieRecordPayload", [("1", 10), ("4", 20)]),
        (6, "PartialUpdateAvroPayload", [("3", 15), ("4", 20)]),
        (8, "PartialUpdateAvroPayload", [("3", 15), ("4", 20)]),
        (9, "PartialUpdateAvroPayload", [("1", 10), ("4", 20)]),
    ],
)
def test_deletes_with_ordering_values_before_updates(version, payload, expected):
    table = Table(COLUMNS, rule_for(version, payload))
    for key, ts in (("1", 5), ("2", 10), ("3", 20), ("4", 20)):
        table.delete(key, ordering=wrapped("Long", ts))
    table.upsert(("3", 15, "c15", None), ("4", 20, "d20", None))
    assert [row[:2] for row in table.merged(*BASE)] == expected


@pytest.mark.parametrize(("version", "third"), [(6, []), (8, []), (9, [("3", 5, "d")])])
def test_aws_dms_deletes_by_operation_in_any_case_before_version_9(version, third):
    table = Table({"ts": pa.int64(), "Op": pa.string()}, rule_for(version, "AWSDmsAvroPayload"))
    table.upsert(("1", 11, "U"), ("2", 11, "D"), ("3", 5, "d"))
    table.upsert(("2", 5, "I"), ("1", 9, "U"))
    merged = table.merged(("1", 10, "I"), ("2", 10, "I"), ("3", 10, "I"))
    assert merged == [("1", 9, "U"), ("2", 5, "I"), *third]


SEQUENCE = "_event_seq"
MYSQL_COLUMNS = {
    "_change_operation_type": pa.string(),
    "_event_bin_file": pa.string(),
    "_event_pos": pa.int64(),
    SEQUENCE: pa.string(),
}


def mysql(key, operation, file, position):
    sequence = f"{file:06}.{position}"
    return (key, operation, f"mysql-bin.{file:06}", position, sequence)


@pytest.mark.parametrize(("version", "third"), [(6, ["000009.150"]), (8, ["000009.150"]), (9, [])])
def test_mysql_debezium_by_position_in_the_binary_log(version, third):
    fields = SEQUENCE if version < 9 else "_event_bin_file,_event_pos"
    rule = rule_for(version, "debezium.MySqlDebeziumAvroPayload", fields)
    table = Table(MYSQL_COLUMNS, rule)
    table.upsert(mysql("1", "u", 10, 5), mysql("2", "u", 9, 90))
    parts = (wrapped("String", "mysql-bin.000009"), wrapped("Long", 200))
    table.delete("3", ordering=wrapped("String", "000009.200") if version < 9 else array_of(*parts))
    table.upsert(mysql("1", "u", 9, 900), mysql("3", "u", 9, 150))
    merged = table.merged(*(mysql(key, "c", 9, 100) for key in "123"))
    assert [row[-1] for row in merged] == ["000010.5", "000009.100", *third]


POSTGRES_COLUMNS = {
    "_event_lsn": pa.int64(),
    "a": pa.string(),
    "b": pa.string(),
    "_change_operation_type": pa.string(),
}


# Apache Hudi 1.1 and later answer the marker text before version 9; 0.15 answers this, too.
@pytest.mark.parametrize(("version", "third"), [(6, [("3", 15)]), (8, [("3", 15)]), (9, [])])
def test_postgres_debezium_by_lsn_with_values_left_out_by_toast(version, third):
    rule = rule_for(version, "debezium.PostgresDebeziumAvroPayload", "_event_lsn")
    table = Table(POSTGRES_COLUMNS, rule)
    table.upsert(("1", 11, TOASTED, TOASTED, "u"), ("2", 5, "late", "late", "u"))
    table.delete("3", ordering=wrapped("Long", 20))
    table.upsert(
        ("1", 12, TOASTED, "new", "u"), ("3", 15, "x", "x", "u"), ("4", 12, None, "x", "u")
    )
    first, second, *others = table.merged(*((key, 10, "a", "b", "c") for key in "1234"))
    assert first[:4] == ("1", 12, "a", "new")
    assert second[:4] == ("2", 10, "a", "b")
    assert [row[:2] for row in others] == [*third, ("4", 12)]
    assert others[-1][2] is None


@pytest.mark.parametrize("version", [6, 8, 9])
def test_own_delete_marker_compares_exactly_and_in_order(version):
    marker = {"payload__delete__field": "a", "payload__delete__marker": "D"}
    rule = rule_of_table(
        version,
        compaction__payload__class=f"{MODEL}DefaultHoodieRecordPayload",
        record__merge__mode="EVENT_TIME_ORDERING",
        table__ordering__fields="ts",
        **{f"record__merge__property__hoodie__{name}": text for name, text in marker.items()},
    )
    table = Table(COLUMNS, rule).upsert(("1", 11, "D", 0), ("2", 5, "D", 0), ("3", 20, "d", 0))
    assert table.merged(*BASE[:3]) == [BASE[1], ("3", 20, "d", 0)]


# One key, step by step: the base row, then the rows of the log.

FLAGGED = {**COLUMNS, "_hoodie_is_deleted": pa.bool_()}


def outcome(payload, base, *log, columns=None, ordering="ts", version=8, **defaults):
    """The values of the only row besides its key; None if it was deleted."""
    table = Table(columns or FLAGGED, rule_for(version, payload, ordering, **defaults))
    for values in log:
        if isinstance(values, bytes):
            table.log.append(values)
        else:
            table.upsert(("k", *values))
    rows = table.merged(("k", *base))
    return rows[0][1:] if rows else None


def late_delete(ordering):
    return Table(FLAGGED, rule_of()).delete("k", ordering=ordering).log[0]


DELETE = late_delete(None)
PARTIAL = "PartialUpdateAvroPayload"
NON_DEFAULT = "OverwriteNonDefaultsWithLatestAvroPayload"
FIRST = "FirstValueAvroPayload"
ROW = (10, "base", 1, False)


@pytest.mark.parametrize(
    ("payload", "log", "expected"),
    [
        pytest.param(FIRST, [(10, "x", 2, False)], ROW, id="first-value-keeps-older-of-a-tie"),
        pytest.param(
            FIRST, [(11, "x", 2, False)], (11, "x", 2, False), id="first-value-takes-greater"
        ),
        pytest.param(
            FIRST,
            [(11, "x", 2, False), (11, "y", 3, False)],
            (11, "x", 2, False),
            id="first-value-keeps-older-of-a-tie-in-the-log",
        ),
        pytest.param(
            NON_DEFAULT,
            [(5, None, None, False), (4, None, 7, None)],
            (4, "base", 7, False),
            id="non-defaults-through-log-and-base",
        ),
        pytest.param(
            NON_DEFAULT,
            [(5, "x", 2, False), (6, None, 3, True), (7, None, 4, False)],
            (7, "base", 4, False),
            id="non-defaults-take-from-a-flagged-row-what-it-has",
        ),
        pytest.param(
            NON_DEFAULT,
            [(5, "x", 2, False), DELETE, (7, None, 4, False)],
            (7, "base", 4, False),
            id="non-defaults-take-nothing-from-a-delete",
        ),
        pytest.param(PARTIAL, [(5, None, None, True)], None, id="partial-late-flag-deletes"),
        pytest.param(PARTIAL, [(5, "x", 2, False)], ROW, id="partial-late-update-finds-no-gap"),
        pytest.param(
            PARTIAL,
            [(20, None, None, True), (15, "x", 2, False), (20, None, 3, False)],
            (20, "base", 3, False),
            id="partial-flagged-row-is-not-filled-by-a-late-one",
        ),
        pytest.param(
            PARTIAL,
            [(None, "x", None, False)],
            (10, "x", 1, False),
            id="partial-update-without-ordering-value-counts-as-newer",
        ),
        pytest.param(
            PARTIAL,
            [(5, None, 2, False), (None, "x", None, False)],
            (10, "base", 1, False),
            id="partial-ordering-value-is-filled-too",
        ),
        pytest.param(
            PARTIAL,
            [(20, "x", None, False), late_delete(wrapped("Long", 5))],
            None,
            id="partial-late-delete-deletes",
        ),
        pytest.param(
            PARTIAL,
            [late_delete(wrapped("Long", 30)), (12, "x", None, False)],
            (12, "x", 1, False),
            id="partial-row-after-a-delete-wins-in-the-log",
        ),
    ],
)
def test_one_record(payload, log, expected):
    assert outcome(payload, ROW, *log) == expected


def test_first_value_takes_the_newer_row_if_the_older_has_no_ordering_value():
    """As needUpdatingPersistedRecord of FirstValueAvroPayload, which asks for a null first."""
    assert outcome(FIRST, (None, "base", 1, False), (None, "x", 2, False)) == (None, "x", 2, False)


ZEROS = {"a": pa.scalar("x"), "n": pa.scalar(0, pa.int32())}


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(NON_DEFAULT, (11, "base", 1, False), id="non-defaults"),
        # PartialUpdateAvroPayload.overwriteField of 0.15 to 1.2.0 looks for nulls alone.
        pytest.param(PARTIAL, (11, "x", 0, False), id="partial-update"),
    ],
)
def test_values_that_equal_the_schema_default(payload, expected):
    assert outcome(payload, ROW, (11, "x", 0, False), **ZEROS) == expected


@pytest.mark.parametrize(
    ("avro", "default", "expected"),
    [
        pytest.param("int", 0, pa.scalar(0, pa.int32()), id="int"),
        pytest.param("long", -1, pa.scalar(-1), id="long"),
        pytest.param("double", 1, pa.scalar(1.0), id="double"),
        pytest.param("string", "", pa.scalar(""), id="string"),
        pytest.param("boolean", False, pa.scalar(value=False), id="boolean"),
        pytest.param(["string", "null"], "x", pa.scalar("x"), id="nullable"),
        pytest.param(["null", "string"], None, None, id="null"),
        pytest.param({"type": "int", "logicalType": "date"}, 0, None, id="date-never-equals"),
        pytest.param("bytes", "x", None, id="bytes-never-equal"),
        pytest.param({"type": "array", "items": "int"}, [], None, id="array"),
    ],
)
def test_defaults_are_those_of_the_table_schema(avro, default, expected):
    fields = [{"name": "id", "type": "int"}, {"name": "c", "type": avro, "default": default}]
    schema = json.dumps({"type": "record", "name": "t", "fields": fields})
    view = TinyTable().write("010", "commit", extra={"schema": schema}).open()
    assert column_defaults(view) == ({} if expected is None else {"c": expected})


def test_null_is_no_default_of_a_column_with_another_default():
    found = outcome(NON_DEFAULT, ROW, (11, None, None, False), **ZEROS)
    assert found == (11, None, None, False)


def test_partial_update_takes_meta_columns_of_the_newer_record_even_if_it_is_late():
    columns = {"_hoodie_commit_time": pa.string(), "ts": pa.int64(), "a": pa.string()}
    found = outcome(PARTIAL, ("001", 10, "base"), ("002", 5, "x"), columns=columns)
    assert found == ("002", 10, "base")


@pytest.mark.parametrize(
    ("kind", "low", "high", "is_later"),
    [
        pytest.param(pa.decimal128(9, 2), Decimal(5), Decimal(9), True, id="decimal"),
        pytest.param(pa.date32(), date(2024, 1, 1), date(2024, 1, 2), True, id="date"),
        pytest.param(pa.string(), "005", "009", True, id="text"),
        pytest.param(pa.float64(), 5.0, 9.0, False, id="double"),
        pytest.param(pa.timestamp("us", "UTC"), 5, 9, False, id="timestamp"),
    ],
)
@pytest.mark.parametrize("version", [6, 8])
def test_partial_update_by_values_of_a_class_of_spark_keeps_the_later_record(
    kind, low, high, is_later, version
):
    # As 1.2.0 reads tables that it wrote in both versions, from the log and over a base file.
    columns = {"ts": kind, "a": pa.string()}
    low, high = pa.array([low, high], kind).to_pylist()
    expected = (low, "late") if is_later else (high, "early")
    for base, *log in (
        [(high, "early"), (low, "late")],
        [(low, "x"), (high, "early"), (low, "late")],
    ):
        assert outcome(PARTIAL, base, *log, columns=columns, version=version) == expected


MYSQL_ROW = mysql("", "c", 10, 5)[1:]


def mysql_outcome(*log, version=8):
    rows = [mysql("", *row)[1:] for row in log]
    found = outcome(
        "debezium.MySqlDebeziumAvroPayload",
        MYSQL_ROW,
        *rows,
        columns=MYSQL_COLUMNS,
        ordering=SEQUENCE,
        version=version,
    )
    return found and found[-1]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param([("u", 10, 5)], "000010.5", id="tie"),
        pytest.param([("D", 9, 500)], "000010.5", id="late-delete"),
        pytest.param([("D", 10, 50)], None, id="delete-in-any-case"),
        # Case x_v8w120_mor_pl_mysql: the payload makes a delete that has no position any more.
        pytest.param([("u", 9, 5), ("D", 9, 50)], None, id="delete-made-in-the-log-beats-all"),
        pytest.param([("u", 9, 5), ("d", 9, 50)], "000010.5", id="flagged-row-keeps-its-position"),
        pytest.param([("u", 9, 5), ("D", 9, 50), ("u", 9, 4)], "000010.5", id="row-after-it"),
        pytest.param([("u", 11, 150), ("u", 11, 50)], "000011.150", id="positions-are-numbers"),
    ],
)
def test_mysql_debezium_record(log, expected):
    assert mysql_outcome(*log) == expected


def test_mysql_files_are_numbers_before_version_9():
    base = ("c", "x", 5, "9.5")
    found = outcome(
        "debezium.MySqlDebeziumAvroPayload",
        base,
        ("u", "x", 1, "000010.1"),
        columns=MYSQL_COLUMNS,
        ordering=SEQUENCE,
    )
    assert found == ("u", "x", 1, "000010.1")


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        (None, "a log record has no _event_seq, so it has no order"),
        ("9", "_event_seq is '9'; expected <file>.<position>"),
        ("mysql.9", "expected <file>.<position>"),
    ],
)
def test_mysql_log_record_without_position_is_corrupt(sequence, message):
    with pytest.raises(CorruptTableError, match=message):
        outcome(
            "debezium.MySqlDebeziumAvroPayload",
            MYSQL_ROW,
            ("u", "x", 1, sequence),
            columns=MYSQL_COLUMNS,
            ordering=SEQUENCE,
        )


def test_mysql_base_row_without_position_is_older_than_all():
    found = outcome(
        "debezium.MySqlDebeziumAvroPayload",
        ("c", None, None, None),
        mysql("", "u", 1, 1)[1:],
        columns=MYSQL_COLUMNS,
        ordering=SEQUENCE,
    )
    assert found is not None
    assert found[-1] == "000001.1"


def test_postgres_fills_text_and_bytes_but_nothing_from_a_deleted_row():
    columns = {**POSTGRES_COLUMNS, "b": pa.binary()}
    rows = [(1, "x", b"x", "u"), (2, TOASTED, TOASTED.encode(), "d"), (3, TOASTED, b"y", "u")]
    found = outcome(
        "debezium.PostgresDebeziumAvroPayload",
        (0, "base", b"base", "c"),
        *rows,
        columns=columns,
        ordering="_event_lsn",
    )
    assert found == (3, "base", b"y", "u")


# Payload classes that cannot run here


def custom(payload="com.acme.MyPayload", strategy=PAYLOAD_STRATEGY):
    return rule_of_table(
        8,
        compaction__payload__class=payload,
        record__merge__strategy__id=strategy,
        record__merge__mode="CUSTOM",
    )


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        pytest.param(custom(), "com.acme.MyPayload", id="own-class"),
        pytest.param(
            custom("com.acme.PartialUpdateAvroPayload"),
            "com.acme.PartialUpdateAvroPayload",
            id="own-class-of-a-known-simple-name",
        ),
        pytest.param(
            custom("org.apache.spark.sql.hudi.command.payload.ExpressionPayload"),
            "ExpressionPayload",
            id="expression-payload",
        ),
        pytest.param(
            custom("", "1897ef5f-18bc-4557-939c-9d6a8afd1519"),
            "merge strategy 1897ef5f",
            id="own-merger",
        ),
        pytest.param(
            custom(f"{MODEL}PartialUpdateAvroPayload", "1897ef5f-18bc-4557-939c-9d6a8afd1519"),
            "PartialUpdateAvroPayload",
            id="known-class-but-own-merger",
        ),
    ],
)
def test_merge_by_unknown_java_code_is_refused_with_advice(rule, named):
    with pytest.raises(UnsupportedMergeError, match="register_payload") as raised:
        check_supported(rule)
    assert named in str(raised.value)
    assert "read_optimized" in str(raised.value)


def test_merge_by_unknown_java_code_is_fine_with_a_merger_for_it():
    merger = PayloadMerger(lambda _, newer: newer, None)
    check_supported(replace(custom(), merger=merger))


@pytest.mark.parametrize("payload", [name for name in VERSION_9 if "." not in name])
def test_known_payload_classes_are_supported(payload):
    check_supported(rule_for(6, payload))
    check_supported(custom(MODEL + payload, ""))


@pytest.mark.parametrize("mode", [COMMIT_TIME, EVENT_TIME])
def test_unknown_partial_update_mode_is_refused(mode):
    rule = replace(rule_of(mode), partial_update_mode="IGNORE_MARKERS")
    message = r"hoodie\.table\.partial\.update\.mode is 'IGNORE_MARKERS'; known: IGNORE_DEFAULTS"
    with pytest.raises(UnsupportedMergeError, match=message):
        check_supported(rule)


def test_each_covered_payload_class_has_a_function_that_decides_like_it():
    assert {payload.decision for payload in PAYLOADS.values()} == DECISIONS.keys()
