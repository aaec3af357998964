"""Decode delete blocks: the keys of the deleted records and their ordering values."""

import functools
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.arrow_values import ZERO, to_arrow, to_numpy
from hudi_pyspark.errors import CorruptAvroError, CorruptLogBlockError
from hudi_pyspark.format.avro.decoder import decode_records
from hudi_pyspark.format.avro.schema import AvroRecord, parse_schema
from hudi_pyspark.format.log.data_block import decode_native_deletes
from hudi_pyspark.format.log.kryo import KryoDelete, KryoValue, parse_deletes
from hudi_pyspark.format.log.log_block import LogBlock

_VERSION_AND_LENGTH = struct.Struct(">ii")
_DAY_MS = 86_400_000
_RECORD_KEY = "_hoodie_record_key"


class OrderingWrapper(Enum):
    """The class that wraps an ordering value, and the Avro type of its field `value`.

    Members are in the order of the branches of Hudi's union. Values of different wrappers have
    different Java classes and cannot be compared: an IntWrapper 5 and a LongWrapper 7 have no
    order. Hudi's schema lacks most logical types; those that it applies later are added here.
    """

    BOOLEAN = "BooleanWrapper", "boolean"
    INT = "IntWrapper", "int"
    LONG = "LongWrapper", "long"
    FLOAT = "FloatWrapper", "float"
    DOUBLE = "DoubleWrapper", "double"
    BYTES = "BytesWrapper", "bytes"
    STRING = "StringWrapper", "string"
    DATE = "DateWrapper", "int", "date"
    DECIMAL = "DecimalWrapper", "bytes", "decimal"  # of 30 digits, 15 of them after the point
    TIME_MICROS = "TimeMicrosWrapper", "long", "time-micros"
    TIMESTAMP_MICROS = "TimestampMicrosWrapper", "long", "timestamp-micros"
    LOCAL_DATE = "LocalDateWrapper", "int", "date"  # only within an ArrayWrapper

    @property
    def schema(self) -> dict[str, object]:
        """The Avro schema of the wrapper, a record of one field, as JSON has it."""
        name, carrier, *logical = self.value
        avro: dict[str, object] = {"type": carrier, "precision": 30, "scale": 15}
        return _record(name, value={**avro, "logicalType": logical[0]} if logical else carrier)


@dataclass(frozen=True, slots=True)
class OrderingGroup:
    """The ordering values of one wrapper, in one Arrow type."""

    wrapper: OrderingWrapper | None  # None for values of the column's own type
    rows: pa.Int64Array  # ordinals of the delete records in their block, ascending
    values: pa.Array  # of the wrapper's type; as long as rows, without nulls


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """The records that a delete block deletes, in block order.

    A record is in one group of `ordering`, or one of `array_rows`. If it is neither, it has no
    ordering value.
    """

    record_keys: pa.StringArray
    ordering: tuple[OrderingGroup, ...]  # by wrapper: one group, unless the block mixes types
    # Ordinals of records with a value for each of several ordering fields, ascending; None if the
    # table has a single field.
    array_rows: pa.Int64Array | None = None
    # The groups of each of these fields, in the order of the fields. One of `array_rows` that is in
    # no group of a field has null there.
    array_fields: tuple[tuple[OrderingGroup, ...], ...] = ()
    # Of the records, as their writer knew them; None for a native log, which lacks them.
    partition_paths: pa.StringArray | None = None

    def other_partitions(self, partition_path: str) -> list[str]:
        """Return the partition paths of records that are in another partition than the file."""
        if self.partition_paths is None:
            return []
        found: set[str | None] = set(self.partition_paths.unique().to_pylist())
        return sorted(path for path in found - {partition_path, None} if path is not None)

    @property
    def is_commit_time(self) -> pa.Array:
        """Whether each record wins over all earlier records, whatever their ordering values.

        Such a delete has no ordering value, or the int 0, which Hudi writes instead.
        """
        by_ordering = np.zeros(len(self.record_keys), np.bool_)
        if self.array_rows is not None:
            by_ordering[to_numpy(self.array_rows)] = True
        for group in self.ordering:
            is_int = group.wrapper is OrderingWrapper.INT
            rows = to_numpy(group.rows)
            by_ordering[rows] = to_numpy(pc.not_equal(group.values, ZERO)) if is_int else True
        return to_arrow(~by_ordering)


def decode_deletes(block: LogBlock) -> DeleteRecords:
    """Decode an inline delete block, or a native log of deletes.

    Raises:
        CorruptLogBlockError: the rows have no record keys, or the block cannot be decoded.
        UnsupportedTableError: an ordering value has an unknown Java class, or a column of a native
            log a type that cannot be read.
    """
    if not block.native_extension:
        return decode_delete_block(block.content, path=block.path, offset=block.offset)
    rows = decode_native_deletes(block)
    names = [name for name in rows.schema.names if name != _RECORD_KEY]
    if len(names) == rows.num_columns:
        raise block.corrupt(f"expected a column {_RECORD_KEY}, found {', '.join(names)}")
    keys, *orderings = (rows.column(name).combine_chunks() for name in (_RECORD_KEY, *names))
    if not pa.types.is_string(keys.type):
        raise block.corrupt(f"expected record keys as text, found {keys.type}")
    groups = tuple(
        OrderingGroup(
            OrderingWrapper.INT if pa.types.is_int32(values.type) else None,
            to_arrow(np.flatnonzero(to_numpy(values.is_valid()))),
            values.drop_null(),  # null if a delete has no ordering value
        )
        for values in orderings
    )
    if len(groups) <= 1:
        return DeleteRecords(keys, groups)
    every_row = to_arrow(np.arange(len(keys)))
    return DeleteRecords(keys, (), every_row, tuple((group,) for group in groups))


def decode_delete_block(content: memoryview, *, path: str, offset: int) -> DeleteRecords:
    """Decode the content of an inline delete block of any version.

    Version 1 has only keys, version 2 also ordering values, both in Kryo; version 3 is Avro. Only
    the golden table v9_mor_payload_mysql_debezium has several ordering fields. Versions 1 and 2 are
    checked only by bytes of Hudi's serialiser. Source: Hudi's HoodieDeleteBlock.

    Args:
        content: of the block, without header and footer.
        path: of the log file, for errors.
        offset: of the block in the file in bytes, for errors.

    Raises:
        CorruptLogBlockError: the content contradicts its version.
        UnsupportedTableError: an ordering value has an unknown Java class.
    """
    if len(content) < _VERSION_AND_LENGTH.size:
        problem = f"expected version and length of a delete block, found {len(content)} bytes"
        raise CorruptLogBlockError(problem, path, offset)
    version, length = _VERSION_AND_LENGTH.unpack_from(content)
    payload = content[_VERSION_AND_LENGTH.size :]
    if not 0 <= length <= len(payload):
        problem = f"expected {length} bytes of deletes, found {len(payload)}"
        raise CorruptLogBlockError(problem, path, offset)
    match version:
        case 1 | 2:
            return _from_kryo(parse_deletes(payload[:length], version, path=path, offset=offset))
        case 3:
            return _decode_avro(payload[:length], path, offset)
        case _:
            problem = f"expected delete block version 1, 2 or 3, found {version}"
            raise CorruptLogBlockError(problem, path, offset)


def _decode_avro(payload: memoryview, path: str, offset: int) -> DeleteRecords:
    """Decode a HoodieDeleteRecordList: one Avro record with all deletes."""
    span = np.array([0, len(payload)], np.int64)
    try:
        table = decode_records(_delete_list_schema(), payload, span[:1], span[1:])
    except CorruptAvroError as error:
        problem = f"delete block cannot be decoded: {error.reason()}"
        raise CorruptLogBlockError(problem, path, offset) from error
    deletes = pa.concat_arrays(table.column("deleteRecordList").chunks).flatten()
    record_keys, partition_paths, wrappers = deletes.flatten()
    *scalars, arrays = wrappers.flatten()
    rows = np.arange(len(deletes), dtype=np.int64)
    groups = _group_by_wrapper(scalars, rows)
    return DeleteRecords(record_keys, groups, *_array_ordering(arrays), partition_paths)


def _group_by_wrapper(
    members: Sequence[pa.StructArray], rows: npt.NDArray[np.int64]
) -> tuple[OrderingGroup, ...]:
    """Group ordering values by wrapper; in each row at most one member of the union is set."""
    groups = []
    for wrapper, member in zip(OrderingWrapper, members, strict=False):
        present = member.is_valid()
        if not present.true_count:
            continue
        (values,) = member.filter(present).flatten()
        groups.append(OrderingGroup(wrapper, to_arrow(rows).filter(present), values))
    return tuple(groups)


def _array_ordering(
    wrappers: pa.StructArray,
) -> tuple[pa.Int64Array | None, tuple[tuple[OrderingGroup, ...], ...]]:
    """Convert the ArrayWrapper branch, a list with a wrapper per ordering field.

    Returns:
        The fields `array_rows` and `array_fields` of the records.
    """
    present = wrappers.is_valid()
    if not present.true_count:
        return None, ()
    (lists,) = wrappers.flatten()
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    # The ordinal of an item in its list is that of its ordering field.
    fields = np.arange(len(rows)) - np.searchsorted(rows, rows)
    items = pc.list_flatten(lists).flatten()
    groups = tuple(
        _group_by_wrapper([item.filter(pa.array(of_field)) for item in items], rows[of_field])
        for of_field in (fields == field for field in range(fields.max(initial=-1) + 1))
    )
    return pa.array(np.flatnonzero(present)), groups


def _from_kryo(deletes: Sequence[KryoDelete]) -> DeleteRecords:
    # A loop over records, like the parser: no writer since 0.13 writes such blocks.
    by_class: dict[str, list[tuple[int, KryoValue]]] = {}
    for row, delete in enumerate(deletes):
        if delete.value is not None:
            by_class.setdefault(delete.java_class, []).append((row, delete.value))
    keys = pa.array([delete.record_key for delete in deletes], pa.string())
    partition_paths = pa.array([delete.partition_path for delete in deletes], pa.string())
    groups = tuple(_kryo_group(name, by_class[name]) for name in _KRYO if name in by_class)
    return DeleteRecords(keys, groups, partition_paths=partition_paths)


def _kryo_group(java_class: str, orderings: Sequence[tuple[int, KryoValue]]) -> OrderingGroup:
    wrapper, data_type = _KRYO[java_class]
    rows = pa.array([row for row, _ in orderings], pa.int64())
    python_values: list[object] = [value for _, value in orderings]
    values: pa.Array = pa.array(python_values, data_type)
    if wrapper is OrderingWrapper.DATE:
        # Milliseconds of midnight in the writer's time zone, which is not recorded. The nearest
        # midnight UTC belongs to the same day in zones up to 12 hours east or west.
        days = np.rint(np.asarray(values) / _DAY_MS).astype(np.int32)
        values = pa.array(days).cast(pa.date32())
    return OrderingGroup(wrapper, rows, values)


# By Java class, in the order of the wrappers; the values decide the precision of a decimal.
_KRYO: dict[str, tuple[OrderingWrapper, pa.DataType | None]] = {
    "boolean": (OrderingWrapper.BOOLEAN, pa.bool_()),
    "int": (OrderingWrapper.INT, pa.int32()),
    "long": (OrderingWrapper.LONG, pa.int64()),
    "float": (OrderingWrapper.FLOAT, pa.float32()),
    "double": (OrderingWrapper.DOUBLE, pa.float64()),
    "String": (OrderingWrapper.STRING, pa.string()),
    "java.sql.Date": (OrderingWrapper.DATE, pa.int64()),
    "java.math.BigDecimal": (OrderingWrapper.DECIMAL, None),
}


def _record(name: str, **fields: object) -> dict[str, object]:
    parts = [{"name": field, "type": avro_type} for field, avro_type in fields.items()]
    return {"type": "record", "name": name, "fields": parts}


@functools.cache
def _delete_list_schema() -> AvroRecord:
    """Return the schema of version 3, which is not in the block.

    Releases only added branches at the end of the unions, so the schema of 1.2.0 fits all blocks.
    """
    *scalars, local_date = (wrapper.schema for wrapper in OrderingWrapper)
    # The second union names the types that the first union defines.
    items = ["null", *(scalar["name"] for scalar in scalars), local_date]
    arrays = _record("ArrayWrapper", wrappedValues=["null", {"type": "array", "items": items}])
    delete = _record(
        "HoodieDeleteRecord",
        recordKey=["null", "string"],
        partitionPath=["null", "string"],
        orderingVal=["null", *scalars, arrays],
    )
    deletes = {"type": "array", "items": delete}
    return parse_schema(json.dumps(_record("HoodieDeleteRecordList", deleteRecordList=deletes)))
