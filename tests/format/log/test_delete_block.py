import io
import struct
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.delete_block import DeleteRecords, OrderingWrapper, decode_delete_block
from hudi_pyspark.format.log.log_block import LogBlockType, frame_blocks
from tests.format.log.delete_lists import DELETE_LIST, array_of, content, wrapped
from tests.format.log.kryo_samples import ONE_DELETE, TWO_DELETES, TWO_KEYS, ascii_text

LOGS = Path(__file__).parents[2] / "golden" / "logs"
W = OrderingWrapper


def avro(*orderings: object) -> bytes:
    """The payload of deletes k0, k1, … of partition p, with these ordering values."""
    records = [
        {"recordKey": f"k{row}", "partitionPath": "p", "orderingVal": ordering}
        for row, ordering in enumerate(orderings)
    ]
    payload = io.BytesIO()
    fastavro.schemaless_writer(payload, DELETE_LIST, {"deleteRecordList": records})
    return payload.getvalue()


def decode(octets: bytes) -> DeleteRecords:
    return decode_delete_block(memoryview(octets), path="f.log", offset=7)


def groups(deletes: DeleteRecords):
    return [
        (group.wrapper, group.rows.to_pylist(), group.values.to_pylist())
        for group in deletes.ordering
    ]


def golden(name: str) -> DeleteRecords:
    blocks = frame_blocks((LOGS / name).read_bytes(), path=name)
    (block,) = (block for block in blocks if block.block_type is LogBlockType.DELETE_BLOCK)
    return decode_delete_block(block.content, path=name, offset=block.offset)


def test_real_deletes_ordered_by_a_long():
    deletes = golden("v6_mor_nonpart_event_time.log")
    assert deletes.record_keys.to_pylist() == ["5", "4", "0", "6"]
    assert groups(deletes) == [(W.LONG, [0, 1, 2, 3], [150, 50, 120, 100])]
    assert deletes.array_rows is None


def test_real_deletes_ordered_by_two_fields():
    deletes = golden("v9_mor_payload_mysql_debezium.log")
    assert deletes.record_keys.to_pylist() == ["2", "3"]
    assert deletes.ordering == ()
    assert deletes.array_rows is not None
    first, second = deletes.array_fields
    assert [group.values.to_pylist() for group in first] == [
        ["mysql-bin.000006", "mysql-bin.000004"]
    ]
    assert [(group.wrapper, group.values.to_pylist()) for group in second] == [(W.LONG, [1, 9999])]
    assert deletes.is_commit_time.to_pylist() == [False, False]


@pytest.mark.parametrize(
    ("ordering", "wrapper", "expected"),
    [
        pytest.param(wrapped("Boolean", value=True), W.BOOLEAN, pa.array([True]), id="boolean"),
        pytest.param(wrapped("Int", 5), W.INT, pa.array([5], pa.int32()), id="int"),
        pytest.param(wrapped("Long", 5), W.LONG, pa.array([5], pa.int64()), id="long"),
        pytest.param(wrapped("Float", 1.5), W.FLOAT, pa.array([1.5], pa.float32()), id="float"),
        pytest.param(wrapped("Double", 1.5), W.DOUBLE, pa.array([1.5], pa.float64()), id="double"),
        pytest.param(wrapped("Bytes", b"\0"), W.BYTES, pa.array([b"\0"]), id="bytes"),
        pytest.param(wrapped("String", "s"), W.STRING, pa.array(["s"]), id="string"),
        pytest.param(wrapped("Date", 1), W.DATE, pa.array([date(1970, 1, 2)]), id="date"),
        pytest.param(
            wrapped("Decimal", Decimal("-1.5")),
            W.DECIMAL,
            pa.array([Decimal("-1.5")], pa.decimal128(30, 15)),
            id="decimal",
        ),
        pytest.param(wrapped("TimeMicros", 5), W.TIME_MICROS, pa.array([5], pa.int64()), id="time"),
        pytest.param(
            wrapped("TimestampMicros", 1),
            W.TIMESTAMP_MICROS,
            pa.array([datetime(1970, 1, 1, 0, 0, 0, 1, timezone.utc)], pa.timestamp("us", "UTC")),
            id="timestamp",
        ),
    ],
)
def test_each_wrapper_has_its_arrow_type(ordering, wrapper, expected):
    (group,) = decode(content(3, avro(ordering))).ordering
    assert group.wrapper is wrapper
    assert group.values.type == expected.type
    assert group.values == expected


def test_mixed_ordering_values_come_in_a_group_per_wrapper():
    payload = avro(wrapped("Long", 7), None, wrapped("Int", 0), wrapped("Long", 9), array_of())
    assert groups(decode(content(3, payload))) == [(W.INT, [2], [0]), (W.LONG, [0, 3], [7, 9])]


def test_deletes_without_ordering_value_or_with_int_0_go_by_commit_time():
    orderings = [None, wrapped("Int", 0), wrapped("Int", 1), wrapped("Long", 0), array_of(None)]
    deletes = decode(content(3, avro(*orderings)))
    assert deletes.is_commit_time.to_pylist() == [True, True, False, False, False]


def test_each_ordering_field_of_an_array_has_its_own_groups():
    payload = avro(
        wrapped("Int", 0),
        array_of(wrapped("String", "a"), wrapped("LocalDate", 1)),
        None,
        array_of(wrapped("Int", 5), None),
    )
    deletes = decode(content(3, payload))
    assert groups(deletes) == [(W.INT, [0], [0])]
    assert deletes.array_rows is not None
    assert deletes.array_rows.to_pylist() == [1, 3]
    assert [
        [(group.wrapper, group.rows.to_pylist(), group.values.to_pylist()) for group in field]
        for field in deletes.array_fields
    ] == [
        [(W.INT, [3], [5]), (W.STRING, [1], ["a"])],
        [(W.LOCAL_DATE, [1], [date(1970, 1, 2)])],
    ]


def test_many_deletes_keep_their_order():
    deletes = decode(content(3, avro(*(wrapped("Long", row) for row in range(500)))))
    assert deletes.record_keys.to_pylist() == [f"k{row}" for row in range(500)]
    assert groups(deletes) == [(W.LONG, list(range(500)), list(range(500)))]


def test_placeholder_block_of_the_metadata_table_deletes_nothing():
    deletes = decode(content(3, avro()))
    assert (deletes.record_keys.to_pylist(), deletes.ordering) == ([], ())
    assert deletes.is_commit_time.to_pylist() == []


def test_version_1_has_keys_only():
    deletes = decode(content(1, TWO_KEYS))
    assert deletes.record_keys == pa.array(["k1", "k2"])
    assert (deletes.ordering, deletes.array_rows) == ((), None)
    assert deletes.is_commit_time.to_pylist() == [True, True]


def test_version_2_has_a_group_per_java_class():
    deletes = decode(content(2, TWO_DELETES))
    assert deletes.record_keys.to_pylist() == ["k1", "k2"]
    assert groups(deletes) == [(W.INT, [0], [0]), (W.LONG, [1], [7])]
    assert deletes.is_commit_time.to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("ordering", "wrapper", "values"),
    [
        pytest.param(
            ascii_text("java.math.BigDecimal") + b"\1\3\xff\x85\4",
            W.DECIMAL,
            pa.array([Decimal("-1.23")]),
            id="decimal",
        ),
        pytest.param(
            # 1970-01-02 at midnight in Shanghai
            ascii_text("java.sql.Date") + b"\1\x80\xcc\xb9\x1b",
            W.DATE,
            pa.array([date(1970, 1, 2)]),
            id="date-in-the-writers-time-zone",
        ),
    ],
)
def test_version_2_values_of_named_classes_have_an_arrow_type(ordering, wrapper, values):
    (group,) = decode(content(2, ONE_DELETE + b"\1\3" + ordering)).ordering
    assert group.wrapper is wrapper
    assert group.values == values


@pytest.mark.parametrize(
    ("octets", "problem"),
    [
        pytest.param(b"\0\0\0", "expected version and length of a delete block, found 3", id="cut"),
        pytest.param(
            content(4, b""), "expected delete block version 1, 2 or 3, found 4", id="version"
        ),
        pytest.param(struct.pack(">ii", 3, 9), "expected 9 bytes of deletes, found 0", id="length"),
        pytest.param(struct.pack(">ii", 3, -1), "expected -1 bytes", id="negative-length"),
        pytest.param(
            content(3, avro(wrapped("Long", 7))[:-2]),
            r"delete block cannot be decoded: record 0, field 'deleteRecordList",
            id="cut-avro",
        ),
        pytest.param(content(1, TWO_KEYS[:-1]), "expected 1 more bytes", id="cut-kryo"),
    ],
)
def test_content_that_does_not_fit_is_refused(octets, problem):
    with pytest.raises(CorruptLogBlockError, match=rf"f\.log at byte 7: {problem}"):
        decode(octets)
