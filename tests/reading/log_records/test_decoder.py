import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError, SchemaEvolutionError
from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.format.nested_types import MILLISECONDS
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.log_records.marks import ranks
from hudi_pyspark.reading.log_records.records import NO_ROW
from tests.reading.log_records.log_files import (
    BASE_INSTANT,
    COMMIT_TIME,
    KEY,
    array_of,
    avro_record,
    data_block,
    delete_block,
    framed,
    log_records,
    nullable,
    rule_of,
    wrapped,
)

SCHEMA = pa.schema([(KEY, pa.string()), ("ts", pa.int64())])
AVRO = avro_record(ts=nullable("long"))
RULE = rule_of()


def rows(*keys, **options):
    return data_block(AVRO, [{KEY: key, "ts": 1} for key in keys], **options)


def deletes(*keys, **options):
    return delete_block([(key, None) for key in keys], **options)


def load(*files, schema=SCHEMA, rule=RULE, positions_of=BASE_INSTANT):
    return log_records(*files, schema=schema, rule=rule, positions_of=positions_of)


def test_records_come_in_log_order_with_their_rows():
    records = load(rows("a", "b") + deletes("c") + rows("a"), deletes("a"))
    assert len(records) == 5
    assert records.keys.to_pylist() == ["a", "b", "c", "a", "a"]
    assert records.row.tolist() == [0, 1, NO_ROW, 2, NO_ROW]
    assert records.rows.column(KEY).to_pylist() == ["a", "b", "a"]
    assert records.marks.is_delete.tolist() == [False, False, True, False, True]


@pytest.mark.parametrize("files", [[], [b""]], ids=["no-file", "empty-file"])
def test_no_blocks_are_no_records(files):
    records = load(*files)
    assert len(records) == 0
    assert records.rows.schema == SCHEMA
    assert records.positions is None


@pytest.mark.parametrize("empty", [rows(), deletes()], ids=["data", "delete"])
def test_block_without_records_is_fine_and_needs_no_positions(empty):
    records = load(empty + rows("a", positions=[4]) + empty)
    assert records.keys.to_pylist() == ["a"]
    assert records.positions is not None
    assert records.positions.tolist() == [4]


def test_positions_of_all_blocks_are_used_together():
    records = load(rows("a", "b", positions=[3, 7]) + deletes("c", positions=[5]))
    assert records.positions is not None
    assert records.positions.tolist() == [3, 7, 5]


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(rows("b"), id="none"),
        pytest.param(deletes("b"), id="none-of-a-delete"),
        pytest.param(rows("b", positions=[1], positions_base="000"), id="of-another-base-file"),
        pytest.param(rows("b", positions=[1, 2]), id="too-many"),
        pytest.param(deletes("b", "c", positions=[1]), id="too-few"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_one_block_without_usable_positions_makes_all_merge_by_key(unusable, first):
    usable = rows("a", positions=[3])
    blocks = [unusable, usable] if first else [usable, unusable]
    assert load(b"".join(blocks)).positions is None


def test_block_without_positions_has_none_even_if_keys_are_not_read():
    decoder = LogDecoder(
        pa.schema([("ts", pa.int64())]), {}, RULE, positions_of=BASE_INSTANT, columns=["ts"]
    )
    usable, bare = framed(rows("a", positions=[3]) + rows("b"))
    positions = next(decoder.decode([usable])).positions
    assert positions is not None
    assert positions.tolist() == [3]
    assert next(decoder.decode([bare])).positions is None


def test_fewer_positions_than_records_are_not_used():
    decoder = LogDecoder(SCHEMA, {}, RULE, positions_of=BASE_INSTANT, columns=SCHEMA.names)
    (block,) = framed(rows("a", "b", positions=[1]))
    assert next(decoder.decode([block])).positions is None


def test_positions_that_name_no_base_file_are_not_used():
    unnamed = rows("a", positions=[3], positions_base=None)
    assert load(unnamed, positions_of=None).positions is None
    assert load(unnamed).positions is None


def test_positions_are_not_even_decoded_when_keys_are_asked_for():
    assert load(rows("a", positions=[3]), positions_of=None).positions is None


@pytest.mark.parametrize(
    ("column", "avro_type", "value", "expected"),
    [
        pytest.param("_hoodie_is_deleted", "boolean", True, True, id="flag"),
        pytest.param("_hoodie_is_deleted", "boolean", False, False, id="flag-false"),
        pytest.param("_hoodie_is_deleted", "boolean", None, False, id="flag-null"),
        pytest.param("_hoodie_is_deleted", "string", "true", False, id="flag-of-another-type"),
        pytest.param("_hoodie_operation", "string", "D", True, id="operation-delete"),
        pytest.param("_hoodie_operation", "string", "-U", True, id="operation-before"),
        pytest.param("_hoodie_operation", "string", "+U", False, id="operation-after"),
        pytest.param("_hoodie_operation", "string", "d", False, id="operation-lower-case"),
        pytest.param("_hoodie_operation", "string", None, False, id="operation-null"),
        pytest.param("op", "string", "gone", True, id="marker"),
        pytest.param("op", "string", "GONE", False, id="marker-in-another-case"),
        pytest.param("op", "string", None, False, id="marker-null"),
        pytest.param("other", "string", "gone", False, id="marker-in-another-column"),
    ],
)
def test_rows_that_delete(column, avro_type, value, expected):
    kind = pa.bool_() if avro_type == "boolean" else pa.string()
    avro = avro_record(ts="long", **{column: nullable(avro_type)})
    block = data_block(avro, [{KEY: "k", "ts": 1, column: value}])
    rule = rule_of(delete_field="op", delete_marker="gone")
    records = load(block, schema=SCHEMA.append(pa.field(column, kind)), rule=rule)
    assert records.marks.is_delete.tolist() == [expected]


def test_marker_is_compared_with_the_text_of_a_number():
    avro = avro_record(ts="long", op="int")
    block = data_block(avro, [{KEY: "k", "ts": 1, "op": op} for op in (0, 1)])
    rule = rule_of(delete_field="op", delete_marker="1")
    records = load(block, schema=SCHEMA.append(pa.field("op", pa.int32())), rule=rule)
    assert records.marks.is_delete.tolist() == [False, True]


def test_marker_may_stand_in_a_nested_field():
    struct = {"type": "record", "name": "s", "fields": [{"name": "op", "type": "string"}]}
    block = data_block(
        avro_record(ts="long", s=nullable(struct)),
        [{KEY: "k", "ts": 1, "s": s} for s in ({"op": "D"}, {"op": "U"}, None)],
    )
    schema = SCHEMA.append(pa.field("s", pa.struct([("op", pa.string())])))
    records = load(block, schema=schema, rule=rule_of(delete_field="s.op", delete_marker="D"))
    assert records.marks.is_delete.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("avro_type", "kind", "values", "expected"),
    [
        pytest.param("int", pa.int32(), [0, 1, None], [True, False, True], id="int"),
        pytest.param("long", pa.int64(), [0, 1, None], [False, False, True], id="long"),
        pytest.param("double", pa.float64(), [0.0, -0.0, None], [False, False, True], id="double"),
        pytest.param("string", pa.string(), ["0", "", None], [False, False, True], id="string"),
    ],
)
def test_default_ordering_is_null_and_the_int_zero(avro_type, kind, values, expected):
    schema = pa.schema([(KEY, pa.string()), ("ts", kind)])
    avro = avro_record(ts=nullable(avro_type))
    records = load(data_block(avro, [{KEY: "k", "ts": ts} for ts in values]), schema=schema)
    assert records.marks.has_default_ordering.tolist() == expected


def test_several_fields_are_never_the_default():
    schema = pa.schema([(KEY, pa.string()), ("a", pa.int32()), ("b", pa.int32())])
    block = data_block(avro_record(a=nullable("int"), b="int"), [{KEY: "k", "a": None, "b": 0}])
    records = load(block, schema=schema, rule=rule_of(ordering_fields=["a", "b"]))
    assert records.marks.has_default_ordering.tolist() == [False]


def test_without_ordering_fields_every_record_has_the_default():
    block = rows("a") + delete_block([("b", wrapped("Long", 5))])
    assert load(block, rule=rule_of(COMMIT_TIME)).marks.has_default_ordering.tolist() == [
        True,
        True,
    ]


DAY = dt.date(2024, 2, 29)
DAYS = (DAY - dt.date(1970, 1, 1)).days


# Deletes, a row of the same ordering value beside them, and whether their Java classes differ.
@pytest.mark.parametrize(
    ("avro_type", "kind", "value", "wrapper", "other_class"),
    [
        pytest.param("int", pa.int32(), 7, wrapped("Int", 7), False, id="int"),
        pytest.param("int", pa.int32(), 7, wrapped("Long", 7), True, id="long-for-int"),
        pytest.param("long", pa.int64(), 7, wrapped("Long", 7), False, id="long"),
        pytest.param("long", pa.int64(), 7, wrapped("Int", 7), True, id="int-for-long"),
        pytest.param("long", pa.int64(), 7, wrapped("TimeMicros", 7), False, id="time-micros"),
        pytest.param("string", pa.string(), "é", wrapped("String", "é"), False, id="string"),
        pytest.param("string", pa.string(), "7", wrapped("Long", 7), True, id="long-for-string"),
        pytest.param("float", pa.float32(), 0.5, wrapped("Float", 0.5), False, id="float"),
        pytest.param("double", pa.float64(), 0.5, wrapped("Double", 0.5), False, id="double"),
        pytest.param("double", pa.float64(), 0.5, wrapped("Float", 0.5), True, id="float-for-dbl"),
        pytest.param(
            "boolean", pa.bool_(), True, wrapped("Boolean", value=True), False, id="boolean"
        ),
        pytest.param(
            {"type": "int", "logicalType": "date"},
            pa.date32(),
            DAY,
            wrapped("Date", DAYS),
            False,
            id="date",
        ),
        pytest.param(
            {"type": "int", "logicalType": "date"},
            pa.date32(),
            DAY,
            wrapped("Int", DAYS),
            False,
            id="date-as-int",
        ),
        pytest.param(
            {"type": "long", "logicalType": "timestamp-micros"},
            pa.timestamp("us", "UTC"),
            dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc),
            wrapped("TimestampMicros", 1_000_000),
            False,
            id="timestamp",
        ),
        pytest.param(
            {"type": "long", "logicalType": "timestamp-micros"},
            pa.timestamp("us", "UTC"),
            dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc),
            wrapped("Long", 1_000_000),
            False,
            id="timestamp-as-long",
        ),
        pytest.param(
            {"type": "long", "logicalType": "local-timestamp-micros"},
            pa.timestamp("us"),
            dt.datetime(1970, 1, 1, 0, 0, 1),  # noqa: DTZ001
            wrapped("TimestampMicros", 1_000_000),
            False,
            id="local-timestamp",
        ),
        pytest.param(
            {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
            pa.decimal128(12, 3),
            Decimal("-1.250"),
            wrapped("Decimal", Decimal("-1.25")),
            False,
            id="decimal-of-another-scale",
        ),
    ],
)
def test_ordering_of_a_delete_compares_with_the_column(
    avro_type, kind, value, wrapper, other_class
):
    schema = pa.schema([(KEY, pa.string()), ("ts", kind)])
    row = data_block(avro_record(ts=nullable(avro_type)), [{KEY: "k", "ts": value}])
    records = load(row + delete_block([("k", wrapper), ("k", None)]), schema=schema)
    row_rank, delete_rank, null_rank = ranks(records.marks.ordering, len(records))
    assert row_rank == delete_rank > null_rank
    assert records.marks.has_other_class.tolist() == [False, other_class, False]
    assert records.marks.has_default_ordering.tolist() == [False, False, True]


# As Apache Hudi 1.2.0 reads a table of its write client, whose records have Avro's numbers.
@pytest.mark.parametrize(
    ("number", "is_later"), [(1_700_000_000_000, False), (1_700_000_000_001, True)]
)
@pytest.mark.parametrize("factor", [1, 1000], ids=["milliseconds", "microseconds"])
@pytest.mark.parametrize("name", ["ts", "inner.ts"])
def test_delete_of_a_column_in_milliseconds_has_a_number_of_either_unit(
    name, factor, number, is_later
):
    kind = pa.timestamp("us", "UTC")
    ts = pa.field("ts", kind, metadata=MILLISECONDS)
    inner = pa.field("inner", pa.struct([ts]))
    schema = pa.schema([pa.field(KEY, pa.string()), ts, inner])
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    nested = {"type": "record", "name": "inner", "fields": [{"name": "ts", "type": millis}]}
    at = dt.datetime.fromtimestamp(1_700_000_000, dt.timezone.utc)
    block = data_block(
        avro_record(ts=millis, inner=nested), [{KEY: "k", "ts": at, "inner": {"ts": at}}]
    )
    block += delete_block([("k", wrapped("Long", number * factor))])
    records = load(block, schema=schema, rule=rule_of(ordering_fields=[name]))
    row_rank, delete_rank = ranks(records.marks.ordering, len(records))
    assert (delete_rank > row_rank) == is_later
    assert (delete_rank == row_rank) != is_later


def test_delete_of_several_fields_has_one_value_for_each():
    schema = pa.schema([(KEY, pa.string()), ("a", pa.string()), ("b", pa.int64())])
    avro = avro_record(a=nullable("string"), b=nullable("long"))
    block = data_block(avro, [{KEY: "k", "a": "x", "b": None}])
    orderings = [
        array_of(wrapped("String", "x"), None),
        array_of(wrapped("String", "x"), wrapped("Long", 1)),
        array_of(wrapped("String", "w"), wrapped("Int", 9)),
    ]
    block += delete_block([("k", ordering) for ordering in orderings])
    records = load(block, schema=schema, rule=rule_of(ordering_fields=["a", "b"]))
    row, same, greater, less = ranks(records.marks.ordering, len(records))
    assert less < row == same < greater
    assert records.marks.has_other_class.tolist() == [False, False, False, True]


def test_old_rows_get_the_type_of_the_table():
    schema = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("new", pa.string())])
    records = load(data_block(avro_record(ts="int"), [{KEY: "k", "ts": 1}]), schema=schema)
    assert records.rows.to_pylist() == [{KEY: "k", "ts": 1, "new": None}]


def test_constants_fill_what_the_files_do_not_hold():
    schema = SCHEMA.append(pa.field("p", pa.int32()))
    decoder = LogDecoder(
        schema,
        {"p": pa.scalar(7, pa.int32())},
        RULE,
        positions_of=None,
        columns=[KEY, "ts"],
    )
    (block,) = framed(data_block(avro_record(ts="long", p="int"), [{KEY: "k", "ts": 1, "p": 8}]))
    (records,) = decoder.decode([block])
    assert records.rows.column("p").to_pylist() == [7]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        pytest.param(rows("a", None), "a record without record key", id="row"),
        pytest.param(deletes("a", None), "a deleted record without record key", id="delete"),
    ],
)
def test_record_without_key_is_corrupt_and_told_where(block, problem):
    offset = len(rows("z"))
    with pytest.raises(CorruptTableError, match=rf"f1\.log at byte {offset}: .*{problem}"):
        load(rows("z") + block)


def test_column_of_another_type_is_told_where():
    block = data_block(avro_record(ts="bytes"), [{KEY: "k", "ts": b"1"}])
    with pytest.raises(SchemaEvolutionError, match=r"f1\.log at byte 0: column 'ts' is stored as"):
        load(block)


def test_undecodable_positions_are_corrupt():
    broken = rows("a", positions=[3], more={HeaderKey.RECORD_POSITIONS: "AAAA"})
    with pytest.raises(CorruptLogBlockError, match="record positions cannot be decoded"):
        load(broken)


def test_absent_part_of_a_delete_field_is_named():
    schema = SCHEMA.append(pa.field("meta", pa.struct([("a", pa.string())])))
    rule = rule_of(delete_field="meta.op", delete_marker="gone")
    with pytest.raises(CorruptTableError, match=r"delete field 'meta\.op' does not exist"):
        load(rows("a"), schema=schema, rule=rule)
