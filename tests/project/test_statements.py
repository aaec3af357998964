"""Statements of the pages, each with a probe that asks the code whether it is still so.

A statement is a piece of the page, so that a change of the page is noticed, too. A probe raises, or
returns whether the statement holds. What docs/supported.md calls refused is probed by a refusal.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable, errors
from hudi_pyspark.filter.bounds import ColumnBounds, may_match
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.format.log.log_block import DATA_BLOCKS, LogBlockType
from hudi_pyspark.metadata_table import pruning
from hudi_pyspark.planning import task_groups
from hudi_pyspark.reading.merge import spill_file
from hudi_pyspark.spark.sql_options import TABLE_FUNCTIONS
from hudi_pyspark.table import file_groups
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.merge_mode import PAYLOADS
from tests.damage import data_file, set_property, unpack
from tests.project.shipped_tables import shipped

PROJECT = Path(__file__).resolve().parents[2]
MOR, COW, CDC = "v6_mor_part_basic", "v6_cow_all_types", "v9_mor_cdc_data_before_after"
Probe = Callable[["Tables"], object]


class Tables:
    """Golden tables to probe with, and where refusals are asked for."""

    def __init__(self, golden_table: Callable[[str], Path], folder: Path) -> None:
        self._golden, self._folder = golden_table, folder

    def open(self, case: str, **properties: str | None) -> HudiTable:
        """Open a golden table, or a copy of it with other properties (with _ for dots)."""
        if not properties:
            return HudiTable(self._golden(case))
        table = unpack(case, self._folder)
        for name, value in properties.items():
            set_property(table, name.replace("__", "."), value)
        return HudiTable(table)

    def with_cut_log(self) -> HudiTable:
        """Open a table of which a committed log file has lost its last bytes."""
        table = unpack(MOR, self._folder)
        log = data_file(table, ".*.log.*")
        log.write_bytes(log.read_bytes()[:-20])
        return HudiTable(table)

    def path(self, case: str) -> Path:
        return self._golden(case)


def refused(error: type[Exception], text: str, ask: Callable[["Tables"], object]) -> Probe:
    """Return a probe that wants a question to be refused."""

    def probe(tables: Tables) -> bool:
        with pytest.raises(error, match=text):
            ask(tables)
        return True

    return probe


def avro_column(column_type: Any) -> pa.Schema:
    record = {"type": "record", "name": "r", "fields": [{"name": "c", "type": column_type}]}
    return arrow_schema(parse_schema(str(record).replace("'", '"')))


def rows(table: HudiTable, **options: Any) -> int:
    return len(table.scan(**options).to_arrow())


def version(number: int) -> TableConfig:
    properties = {"hoodie.table.name": "t", "hoodie.table.version": str(number)}
    return TableConfig.parse(properties | {"hoodie.table.type": "COPY_ON_WRITE"})


def like_skips(_: Tables) -> bool:
    condition = parse_filter("name LIKE 'p%'", pa.schema([("name", pa.string())]))
    bounds = ColumnBounds.of(pa.scalar("a"), pa.scalar("b"))
    return not may_match(condition, lambda _: bounds)


STATEMENTS: list[tuple[str, str, Probe]] = [
    # Supported, versions
    (
        "supported",
        "| 11 and later | no: `UnsupportedVersionError` | | | |",
        refused(errors.UnsupportedVersionError, "11", lambda _: version(11)),
    ),
    (
        "supported",
        "| 7 | accepted, **not tested** | | | |",
        lambda _: all(version(number).version == number for number in range(11)),
    ),
    (
        "supported",
        "Base files in Vortex, and logs in Lance or Vortex, are refused.",
        refused(
            errors.UnsupportedTableError,
            "VORTEX",
            lambda tables: tables.open(COW, hoodie__table__base__file__format="VORTEX"),
        ),
    ),
    # Supported, tables
    (
        "supported",
        "Tables of other formats (`hoodie.table.format`) and the metadata table itself are",
        refused(
            errors.UnsupportedTableError,
            "hoodie.table.format",
            lambda tables: tables.open(COW, hoodie__table__format="iceberg"),
        ),
    ),
    (
        "supported",
        "and the metadata table itself are refused.",
        refused(
            errors.UnsupportedMergeError,
            r"this is the metadata table of a table.*inspect\.metadata_records",
            lambda tables: rows(
                HudiTable(tables.path("v9_mor_mdt_indexes") / ".hoodie" / "metadata")
            ),
        ),
    ),
    (
        "supported",
        "No incremental queries, since rows do not name their commit",
        refused(
            errors.UnsupportedTableError,
            "need the column _hoodie_commit_time",
            lambda tables: rows(tables.open("v6_cow_no_meta_fields"), begin="earliest"),
        ),
    ),
    # Supported, queries
    (
        "supported",
        "`hoodie.datasource.read.incr.filters`, globs and several paths are refused.",
        refused(
            errors.UnsupportedQueryError,
            "use .filter",
            lambda tables: tables.open(COW).scan_with({"hoodie.datasource.read.incr.filters": "a"}),
        ),
    ),
    (
        "supported",
        (
            "- `hudi_query`, `hudi_table_changes`, `hudi_query_timeline`, `hudi_filesystem_view`, "
            "in SQL [or Python](migration.md#functions-of-apache-hudi)."
        ),
        lambda _: {*TABLE_FUNCTIONS} <= {*hudi_pyspark.__all__},
    ),
    (
        "supported",
        "snapshot, read-optimized (of COPY_ON_WRITE the same)",
        lambda t: rows(t.open(COW), query_type="read_optimized") == rows(t.open(COW)),
    ),
    # Supported, log files and merging
    (
        "supported",
        "- Avro, Parquet and HFile data;",
        lambda _: (
            {
                LogBlockType.AVRO_DATA_BLOCK,
                LogBlockType.PARQUET_DATA_BLOCK,
                LogBlockType.HFILE_DATA_BLOCK,
            }
            <= DATA_BLOCKS
        ),
    ),
    (
        "supported",
        "A corrupt block within what a commit wrote is a `CorruptLogBlockError`;",
        refused(
            errors.CorruptLogBlockError,
            "at byte",
            lambda t: rows(t.with_cut_log()),
        ),
    ),
    (
        "supported",
        "`on_damage` = `warn` or `ignore` skips it, as Apache Hudi does.",
        lambda t: rows(t.with_cut_log(), on_damage="ignore") > 0,
    ),
    (
        "supported",
        "other payload classes and merge strategies: with a [merger in Python]",
        refused(
            errors.UnsupportedMergeError,
            "OwnPayload",
            lambda tables: rows(
                tables.open(
                    MOR,
                    hoodie__compaction__payload__class="com.acme.OwnPayload",
                )
            ),
        ),
    ),
    *(
        (
            "supported",
            name,
            lambda _, name=name: name in PAYLOADS,
        )
        for name in (
            "OverwriteWithLatestAvroPayload",
            "DefaultHoodieRecordPayload",
            "EventTimeAvroPayload",
            "PartialUpdateAvroPayload",
            "OverwriteNonDefaultsWithLatestAvroPayload",
            "FirstValueAvroPayload",
            "AWSDmsAvroPayload",
            "MySqlDebeziumAvroPayload",
            "PostgresDebeziumAvroPayload",
        )
    ),
    # Supported, columns
    (
        "supported",
        "| decimals of more than 38 digits, timestamps in nanoseconds, recursive records | no |",
        refused(
            errors.UnsupportedTypeError,
            "39 digits",
            lambda _: avro_column(
                {"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 0}
            ),
        ),
    ),
    (
        "supported",
        "timestamps in nanoseconds, recursive records | no |",
        refused(
            errors.UnsupportedTypeError,
            "timestamp-nanos",
            lambda _: avro_column({"type": "long", "logicalType": "timestamp-nanos"}),
        ),
    ),
    (
        "supported",
        "recursive records | no |",
        refused(errors.UnsupportedTypeError, "in itself", lambda _: avro_column(["null", "r"])),
    ),
    # Supported, differences
    (
        "supported",
        "| D6 | `LIKE 'p%'` with column statistics | may skip files with such rows |",
        like_skips,
    ),
    (
        "supported",
        "| D10 | a commit range that ends before it begins;",
        refused(
            errors.InvalidInstantError,
            "after its end",
            lambda t: rows(t.open(MOR), begin="20260102000000", end="20260101000000"),
        ),
    ),
    (
        "supported",
        "| D18 | `as.of.instant` later than both now and the last commit |",
        refused(
            errors.FutureInstantError,
            "in the future",
            lambda t: rows(t.open(MOR), as_of="29990101000000"),
        ),
    ),
    (
        "supported",
        "| D20 | the path of a partition as base path |",
        refused(
            errors.PathInsideTableError, "lies inside", lambda t: HudiTable(t.path(MOR) / "emea")
        ),
    ),
    (
        "supported",
        "every column is nullable, and null in rows that lack it |",
        lambda t: all(field.nullable for field in t.open(COW).schema),
    ),
    # Limits of other pages
    (
        "how-a-read-works",
        "newest 1,000 commits up to the instant of the query are compared",
        lambda _: file_groups.CHECKED_COMMITS == 1_000,
    ),
    (
        "how-a-read-works",
        "prune base files by record key, of up to 1,000 base files",
        lambda _: pruning._MOST_BLOOM_FILTERS == 1_000,
    ),
    (
        "how-a-read-works",
        "Log files count three times their size",
        lambda _: task_groups._LOG_WEIGHT == 3,
    ),
    (
        "how-a-read-works",
        "log records go to 256 buckets on local disk",
        lambda _: spill_file.BUCKETS == 256,
    ),
    (
        "how-a-read-works",
        "at most four. Small slices on another machine get up to twelve threads more",
        lambda _: (hudi_pyspark.scan._MAX_THREADS, hudi_pyspark.scan._MAX_EXTRA_THREADS) == (4, 12),
    ),
    (
        "options",
        "there are at most 100,000 tasks",
        lambda _: task_groups._MAX_GROUPS == 100_000,
    ),
    (
        "tuning",
        "10,000 keys of any simple type but floats",
        lambda _: (
            "int MOST_KEYS = 10000;"
            in (PROJECT / "hudi_pyspark/spark/jvm/NarrowedScan.java").read_text(encoding="utf-8")
        ),
    ),
    # Counts
    (
        "supported",
        "256 of them, or more, ship with the code",
        lambda _: sum(shipped().values()) >= 256,
    ),
    (
        "README",
        "reads table versions 0 to 6 and 8 to 10",
        lambda _: all(version(number).version == number for number in (*range(7), 8, 9, 10)),
    ),
    (
        "README",
        "compared cell by cell on more than 200 tables",
        lambda _: sum(shipped().values()) > 200,
    ),
]


def page(name: str) -> str:
    folder = PROJECT if name.isupper() else PROJECT / "docs"
    return " ".join((folder / f"{name}.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("name", "statement", "probe"),
    STATEMENTS,
    ids=[f"{name}: {statement[:50]}" for name, statement, _ in STATEMENTS],
)
def test_page_says_what_the_code_does(name, statement, probe, golden_table, tmp_path):
    assert statement in page(name), "the page has changed: change the probe with it"
    assert probe(Tables(golden_table, tmp_path)), "the code has changed: change the page with it"
