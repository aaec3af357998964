"""The cost of a table grows with its columns, not with their square."""

import dis
import io
import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudi_pyspark
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import Scan, choose_scan
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.table.tiny_table import TinyTable, base, log

PACKAGE = hudi_pyspark.__path__[0]
META = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
# By turns: the Avro type of a column, and its type in the base file. Timestamps are mislabelled.
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
TYPES: tuple[tuple[object, pa.DataType], ...] = (
    ("string", pa.string()),
    ("double", pa.float64()),
    (MILLIS, pa.timestamp("us", "UTC")),
    ("int", pa.int32()),
)
# pyarrow makes a list of all columns, or converts the whole schema, each time that one is asked.
LISTS_OF_COLUMNS = {"names", "columns", "column_names", "schema_arrow", "set_column"}


def wide_table(count: int) -> TinyTable:
    """A slice of one base row and one log record of another key, with so many data columns."""
    columns: dict[str, tuple[object, pa.DataType]] = {"ts": ("long", pa.int64())}
    columns |= {f"_hoodie_{name}": TYPES[0] for name in META}
    columns |= {f"c{number}": TYPES[number % len(TYPES)] for number in range(count)}
    fields = [{"name": name, "type": ["null", avro]} for name, (avro, _) in columns.items()]
    schema = {"type": "record", "name": "r", "fields": fields}
    table = TinyTable(record__merge__mode="EVENT_TIME_ORDERING", table__ordering__fields="ts")
    row = {"_hoodie_record_key": "a", "ts": 1}
    values = {name: pa.array([row.get(name)], arrow) for name, (_, arrow) in columns.items()}
    file = io.BytesIO()
    pq.write_table(pa.table(values), file)
    table.data(base("f", "010"), content=file.getvalue())
    table.write("010", "commit", base("f", "010"))
    record = dict.fromkeys(columns) | {"_hoodie_record_key": "b", "ts": 2, "c0": "log"}
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "020",
        HeaderKey.SCHEMA: json.dumps(schema),
    }
    content = avro_content(avro_records(schema, [record]))
    path = log("f", "020")
    table.data(path, content=write_block(LogBlockType.AVRO_DATA_BLOCK, header, content))
    table.write("020", "deltacommit", path, extra={"schema": json.dumps(schema)})
    return table


def count_lists_of_columns(run: Callable[[], object]) -> Counter[str]:
    """Count how often code of the package asks for a list of all columns while it runs."""
    counts: Counter[str] = Counter()

    @cache
    def lookups(code: CodeType) -> dict[int, str]:
        is_ours = code.co_filename.startswith(PACKAGE) and LISTS_OF_COLUMNS & {*code.co_names}
        instructions = dis.get_instructions(code) if is_ours else ()
        return {
            step.offset: step.argval
            for step in instructions
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in LISTS_OF_COLUMNS
        }

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not lookups(frame.f_code):
            return None
        if event == "call":
            frame.f_trace_opcodes = True
        elif event == "opcode" and (name := lookups(frame.f_code).get(frame.f_lasti)):
            counts[f"{name} in {frame.f_code.co_name}"] += 1
        return trace

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return counts


def scan(table: TinyTable, **options: str) -> Scan:
    return choose_scan(table.open(), ReadOptions.parse(options), {})


QUERIES: dict[str, Callable[[TinyTable], object]] = {
    "all": lambda table: scan(table).to_arrow(),
    "every-column-by-name": lambda table: scan(
        table, columns=",".join(scan(table).schema.names)
    ).to_arrow(),
    "one-column": lambda table: scan(table, columns="c0", filter="c3 > 5").to_arrow(),
    "selected": lambda table: scan(table).select(scan(table).schema.names).to_arrow(),
    "base-files": lambda table: scan(table, query_type="read_optimized").to_arrow(),
    "unmerged": lambda table: scan(table, merge_type="skip_merge").to_arrow(),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_no_query_lists_the_columns_for_each_of_3000_columns(query):
    of_few, of_many = (
        count_lists_of_columns(partial(query, wide_table(count))) for count in (30, 3_000)
    )
    assert sum(of_few.values()) > 10  # the counter counts
    assert of_many == of_few


def table_of_partitions(count: int) -> TinyTable:
    """A table with two slices in each partition, of which one has a log file."""
    columns = {"c0": pa.string(), "p": pa.string(), "_hoodie_record_key": pa.string()}
    fields = [{"name": name, "type": ["null", "string"]} for name in columns]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    table = TinyTable(table__partition__fields="p", record__merge__mode="COMMIT_TIME_ORDERING")
    file = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(["a"], kind) for name, kind in columns.items()}), file)
    paths = [f"{number:03}/{base(f'{number}-{n}', '010')}" for number in range(count) for n in "ab"]
    table.data(*paths, content=file.getvalue())
    table.write("010", "commit", *paths, extra={"schema": schema})
    logs = [f"{number:03}/{log(f'{number}-a', '020')}" for number in range(count)]
    return table.write("020", "deltacommit", *logs, extra={"schema": schema})


@pytest.mark.parametrize("options", [{}, {"columns": "c0"}, {"filter": "p >= '000'"}])
def test_planning_lists_no_columns_for_each_partition_or_slice(options):
    def counted(partitions: int) -> Counter[str]:
        table = table_of_partitions(partitions)
        groups = []
        counts = count_lists_of_columns(
            lambda: groups.extend(scan(table, **options)._plan_groups())
        )
        assert sum(map(len, groups)) == 2 * partitions
        return counts

    assert counted(30) == counted(3)
