"""Files and tables with random logical types: columns are read as a twin reads value by value."""

import io
import json
from itertools import pairwise
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.columns.schema_evolution import conform, repair_timestamps
from hudi_pyspark.format.avro.decoder import decode_records
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.table.schema import as_shown

# Leaf types by the type in the file: those that the table may have, and how a stored number becomes
# microseconds (T1, T2, T3 in their order); None for a column that is not of timestamps.
INSTANTS = ("timestamp-millis", "timestamp-micros")
LOCALS = ("local-timestamp-millis", "local-timestamp-micros")
FACTORS: dict[tuple[str, str], int | None] = {
    ("long", "long"): None,
    ("long", "local-timestamp-millis"): 1000,
    ("long", "local-timestamp-micros"): 1,
    ("timestamp-micros", "timestamp-millis"): 1000,
    ("timestamp-micros", "timestamp-micros"): 1,
    ("timestamp-micros", "local-timestamp-millis"): 1,
    ("timestamp-micros", "local-timestamp-micros"): 1,
    **{("timestamp-millis", table): 1000 for table in (*INSTANTS, *LOCALS)},
    ("local-timestamp-micros", "long"): None,
    ("local-timestamp-millis", "long"): None,
    **{("local-timestamp-micros", table): 1 for table in (*INSTANTS, *LOCALS)},
    **{("local-timestamp-millis", table): 1000 for table in (*INSTANTS, *LOCALS)},
}
LEAVES = st.sampled_from(sorted(FACTORS)).map(lambda pair: ("leaf", pair))
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("array"), inner),
        st.tuples(st.just("map"), inner),
        st.tuples(st.just("record"), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)
NUMBERS = st.integers(-(10**15), 10**15)
# In log blocks Apache Hudi takes microseconds for milliseconds whether they have a zone or not.
FACTORS_IN_AVRO = FACTORS | {
    (file, table): 1000
    for file in ("timestamp-micros", "local-timestamp-micros")
    for table in ("timestamp-millis", "local-timestamp-millis")
}
Type = tuple[str, Any]


def avro(kind: Type, side: int, path: str) -> Any:
    """The Avro type of the file (0) or of the table (1), nullable; plain long without a name."""
    name, of = kind
    if name == "leaf":
        logical = of[side]
        stored = "long" if logical == "long" else {"type": "long", "logicalType": logical}
        return ["null", stored]
    if name == "array":
        return ["null", {"type": "array", "items": avro(of, side, f"{path}_i")}]
    if name == "map":
        return ["null", {"type": "map", "values": avro(of, side, f"{path}_v")}]
    return ["null", {"type": "record", "name": path, "fields": fields(of, side, path)}]


def fields(kinds: list[Type], side: int, path: str) -> list[dict[str, Any]]:
    named = [(f"f{number}", kind) for number, kind in enumerate(kinds)]
    parts = [{"name": n, "type": avro(k, side, f"{path}_{n}")} for n, k in named]
    return parts[::-1] if side else parts  # the table may have another order


def values(kind: Type) -> st.SearchStrategy[Any]:
    name, of = kind
    if name == "leaf":
        return st.none() | NUMBERS
    if name == "array":
        return st.none() | st.lists(values(of), max_size=3)
    if name == "map":
        return st.none() | st.dictionaries(st.sampled_from("abc"), values(of), max_size=2)
    return st.none() | st.fixed_dictionaries({f"f{n}": values(k) for n, k in enumerate(of)})


def twin(kind: Type, value: Any, factors: dict[tuple[str, str], int | None]) -> Any:
    """One stored value, as the table has it: microseconds, or the number of a long."""
    name, of = kind
    if value is None:
        return None
    if name == "leaf":
        return value * (factors[of] or 1)
    if name == "array":
        return [twin(of, item, factors) for item in value]
    if name == "map":
        return sorted((key, twin(of, item, factors)) for key, item in value.items())
    return {f"f{n}": twin(part, value[f"f{n}"], factors) for n, part in enumerate(of)}


def numbers(array: pa.Array) -> list[Any]:
    """Values as numbers, since Python has no time after the year 9999."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        assert kind.unit == "us"
        return array.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_struct(kind):
        parts = {f.name: numbers(array.field(i)) for i, f in enumerate(kind)}
        rows = [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
        return [row if ok else None for row, ok in zip(rows, valid(array), strict=True)]
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        is_map = pa.types.is_map(kind)
        items = numbers(array.items if is_map else array.values)
        if is_map:
            items = list(zip(array.keys.to_pylist(), items, strict=True))
        ends = array.offsets.to_pylist()
        lists = [items[a:b] for a, b in pairwise(ends)]
        lists = [sorted(of) for of in lists] if is_map else lists
        return [of if ok else None for of, ok in zip(lists, valid(array), strict=True)]
    return array.to_pylist()  # type: ignore[no-any-return]


def valid(array: pa.Array) -> list[bool]:
    return array.is_valid().to_pylist()  # type: ignore[no-any-return]


@given(st.data())
def test_columns_are_read_as_the_twin_reads_each_value(data):
    kinds = data.draw(st.lists(TYPES, min_size=1, max_size=3))
    rows = data.draw(st.lists(st.tuples(*map(values, kinds)), max_size=4))
    of_file, of_table = (
        {"type": "record", "name": "r", "fields": fields(kinds, side, "r")} for side in (0, 1)
    )
    # Avro stores the same bytes with and without a logical type.
    plain = json.loads(json.dumps(of_file).replace("timestamp-", "other-"))
    encoded = []
    for row in rows:
        octets = io.BytesIO()
        record = {f"f{number}": value for number, value in enumerate(row)}
        fastavro.schemaless_writer(octets, fastavro.parse_schema(plain), record)
        encoded.append(octets.getvalue())
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    starts = ends - [len(one) for one in encoded]
    stored = decode_records(
        parse_schema(json.dumps(of_file)), b"".join(encoded), starts.astype(np.int64), ends
    )
    wanted = pa.schema([as_shown(f) for f in arrow_schema(parse_schema(json.dumps(of_table)))])
    in_parquet = through_parquet(stored)
    for table, factors in ((stored, FACTORS_IN_AVRO), (in_parquet, FACTORS)):
        in_avro = factors is FACTORS_IN_AVRO
        repaired = repair_timestamps(table, wanted, in_avro=in_avro)
        read = conform(repaired, wanted, {}, source="f").combine_chunks()
        for number, kind in enumerate(kinds):
            found = numbers(pa.concat_arrays(read.column(f"f{number}").chunks or [pa.nulls(0)]))
            assert found == [twin(kind, row[number], factors) for row in rows]


def through_parquet(table: pa.Table) -> pa.Table:
    octets = io.BytesIO()
    pq.write_table(table, octets, store_schema=False)
    return pq.read_table(octets)
