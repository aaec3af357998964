"""Tables whose indexes a caller may trust, written by Apache Hudi, and its rows without any index.

    pip install 'pyspark==3.5.*' pyarrow      # Java 17; the bundle of Apache Hudi 1.2.0 from Maven Central
    HUDI_JAR=path/to/hudi-spark3.5-bundle_2.12-1.2.0.jar python -m verification.generate.index_tables [CASE ...]

Writes tests/practice/trusted_indexes/CASE: the table, and in answers.zip the rows that Apache Hudi reads
without data skipping and without the metadata table, and the keys that it loses with its defaults, by
condition.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession

from tests.golden.archive import write_archive
from tests.golden.case import write_case
from verification.generate.session import hudi_session

FOLDER = Path(__file__).parents[2] / "tests/practice/trusted_indexes"
SETTINGS = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1500m",
}
RECORD_INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "3",
    "hoodie.metadata.record.index.max.filegroup.count": "3",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
STATS = {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
}
NO_STATS = {name: "false" for name in STATS}
SMALL_FILES = {  # inserts begin new file groups, with small Bloom filters
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.index.bloom.num_entries": "100",
}
WITHOUT_INDEXES = {"hoodie.enable.data.skipping": "false", "hoodie.metadata.enable": "false"}
CITIES = ["Oslo", "oslo", "a$b", "back\\slash", "Z\u00fcrich", "", None]
CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """A table to write."""

    description: str
    kind: str  # "cow" or "mor"
    columns: str  # before `ts bigint, region string`
    options: dict[str, str]
    conditions: tuple[str, ...]  # with which Apache Hudi reads by its defaults
    write: Callable[[Writer], None]


def case(
    description: str, kind: str, columns: str, options: dict[str, str], conditions: tuple[str, ...]
) -> Callable[[Callable[[Writer], None]], Callable[[Writer], None]]:
    """Register a function as the case of its name."""

    def register(write: Callable[[Writer], None]) -> Callable[[Writer], None]:
        CASES[write.__name__] = Case(description, kind, columns, options, conditions, write)
        return write

    return register


@dataclass
class Writer:
    """One table, and the statements that write it."""

    spark: SparkSession
    name: str
    path: Path
    case: Case
    failures: list[str] = field(default_factory=list)

    def create(self) -> None:
        properties = "primaryKey = 'id', preCombineField = 'ts', type = '" + self.case.kind + "'"
        self.spark.sql(
            f"CREATE TABLE {self.name} ({self.case.columns}, ts bigint, region string) USING hudi "
            f"PARTITIONED BY (region) LOCATION '{self.path}' TBLPROPERTIES ({properties}, "
            "'hoodie.record.merge.mode' = 'EVENT_TIME_ORDERING')"
        )

    def sql(self, text: str, **more: str) -> None:
        """Run a statement with the options of the case; keys have _ for dots."""
        options = self.case.options | {k.replace("_", "."): v for k, v in more.items()}
        for key, value in options.items():
            self.spark.conf.set(key, value)
        self.spark.sql(text.format(t=self.name)).collect()
        for key in options:
            self.spark.conf.unset(key)

    def upsert(self, *rows: str, operation: str = "upsert") -> None:
        """Write rows, each a list of SQL literals, into one file group of each partition."""
        values = ", ".join(f"({row})" for row in rows)
        columns = f"{self.case.columns}, ts bigint, region string".split(", ")
        casts = ", ".join(
            f"CAST(c{n} AS {column.split()[1]}) AS {column.split()[0]}"
            for n, column in enumerate(columns)
        )
        names = ", ".join(f"c{n}" for n in range(len(columns)))
        frame = self.spark.sql(f"SELECT {casts} FROM VALUES {values} AS v({names})").coalesce(1)
        options = {
            **self.case.options,
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "region",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.upsert.shuffle.parallelism": "1",
            "hoodie.insert.shuffle.parallelism": "1",
        }
        frame.write.format("hudi").options(**options).mode("append").save(str(self.path))

    def commits(self) -> list[str]:
        timeline = self.path / ".hoodie/timeline"
        names = sorted(f.name for f in timeline.iterdir() if f.name.count("_") and f.is_file())
        return [name.partition("_")[0] for name in names]

    def rows(self, condition: str, options: dict[str, str]) -> list[dict[str, object]]:
        frame = self.spark.read.format("hudi").options(**options).load(str(self.path))
        names = [column.split()[0] for column in self.case.columns.split(", ")]
        names += ["ts", "region", "_hoodie_file_name"]
        found = frame.where(condition).selectExpr(*names).orderBy("id", "region")
        return [json.loads(text) for text in found.toJSON().collect()]


def sql_text(value: object) -> str:
    """Return a value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def row(*values: object) -> str:
    return ", ".join(map(sql_text, values))


def of_city(i: int, ts: int, region: str | None = None, city: str | None = "") -> str:
    region = region or "abc"[i % 3]
    return row(f"k{i:02d}", CITIES[i % 7] if city == "" else city, i % 6, ts, region)


BY_CITY = ("city = 'Oslo'", "city = 'Bergen'", "city IN ('Oslo', 'a$b', 'Bodo')", "n = 3")


@case(
    "secondary indexes, created late: values that change, deletes, a compaction, late updates that "
    "lose, a commit that is rolled back, an index that is dropped and created again",
    "mor",
    "id string, city string, n int",
    {**RECORD_INDEX, **NO_STATS, **SMALL_FILES},
    BY_CITY,
)
def secondary_mor(t: Writer) -> None:
    for begin in (0, 6, 12, 18):
        t.upsert(*(of_city(i, 100) for i in range(begin, begin + 6)))
    t.sql("CREATE INDEX city_idx ON {t} (city)")
    t.sql("CREATE INDEX n_idx ON {t} (n)")
    t.upsert(*(of_city(i, 110, city="Bergen") for i in (0, 7, 14)))
    t.upsert(of_city(1, 120), of_city(8, 120), operation="delete")
    t.sql("CALL run_compaction(op => 'schedule', table => '{t}')")
    t.sql("CALL run_compaction(op => 'run', table => '{t}')")
    t.upsert(*(of_city(i, 130, city="Bodo") for i in (2, 7, 9)))
    t.upsert(*(of_city(i, 10, city="late") for i in (3, 14)))
    t.upsert(*(of_city(i, 140, city="undone") for i in (4, 11)))
    t.sql(f"CALL rollback_to_instant(table => '{{t}}', instant_time => '{t.commits()[-1]}')")
    t.sql("DROP INDEX n_idx ON {t}")
    t.upsert(row("k05", "Oslo", 77, 150, "c"), row("k10", None, 78, 150, "b"))
    t.sql("CREATE INDEX n_idx ON {t} (n)")
    t.upsert(row("k05", "Oslo", 3, 160, "c"), row("k30", "Oslo", 77, 160, "a"))


@case(
    "a secondary and a record index that lost keys with rows: rows were deleted in a partition, and "
    "another one has rows with their keys",
    "cow",
    "id string, city string, n int",
    {
        **NO_STATS,
        **SMALL_FILES,
        **RECORD_INDEX,
        "hoodie.index.type": "SIMPLE",
    },
    (*BY_CITY, "id = 'k03'", "id = 'k05'"),
)
def secondary_repeated_keys(t: Writer) -> None:
    t.upsert(*(of_city(i, 100, "a") for i in range(8)))
    t.upsert(*(of_city(i, 110, "b") for i in range(8, 14)))
    t.sql("CREATE INDEX city_idx ON {t} (city)")
    t.upsert(*(of_city(i, 120, "b", "Bergen") for i in (3, 5)))
    t.upsert(*(of_city(i, 130, "c") for i in range(14, 20)))
    t.upsert(*(of_city(i, 140, "a") for i in (3, 5, 6)), operation="delete")


BY_BOUNDS = (
    "n = 25",
    "n < 10",
    "n > 500",
    "d IS NULL",
    "n IS NULL",
    "city = 'b1'",
    "d > DATE '2024-03-01'",
)


def of_bounds(i: int, ts: int, region: str, **more: object) -> str:
    number = "abcd".index(region) * 100 + i
    day = f"2024-0{'abcd'.index(region) + 1}-1{i}"
    values = {"city": f"{region}{i}", "n": number, "d": day, **more}
    return row(f"{region}{i}", values["city"], values["n"], values["d"], ts, region)


@case(
    "partition statistics: bounds that updates leave and widen, nulls, deletes, a dropped partition, "
    "a compaction",
    "mor",
    "id string, city string, n int, d date",
    {**STATS, **SMALL_FILES},
    BY_BOUNDS,
)
def partition_stats(t: Writer) -> None:
    for region in "abcd":
        t.upsert(*(of_bounds(i, 100, region) for i in range(3)))
        t.upsert(*(of_bounds(i, 100, region) for i in range(3, 6)))
    t.upsert(of_bounds(1, 110, "a", n=250), of_bounds(4, 110, "c", d=None))
    t.upsert(*(of_bounds(i, 120, "b") for i in (0, 1, 2)), operation="delete")
    t.sql("CALL run_compaction(op => 'schedule', table => '{t}')")
    t.sql("CALL run_compaction(op => 'run', table => '{t}')")
    t.sql("ALTER TABLE {t} DROP PARTITION (region = 'd')")
    late = of_bounds(2, 10, "a", n=999)  # loses by its ordering value
    t.upsert(of_bounds(7, 130, "b", n=777), late, of_bounds(8, 130, "c", n=None))
    t.upsert(*(of_bounds(i, 140, "d", n=5 + i) for i in (7, 8)))


def of_expression(i: int, ts: int, region: str) -> str:
    day = f"{2020 + i // 4}-0{1 + i % 6}-15"
    seconds = 1_700_000_000 + i * 40_000
    return row(f"K{i:02d}", f"Name {i // 3}", i * 10, day, seconds, ts, region)


EXPRESSIONS = {
    "n_idx": "column_stats(n) OPTIONS(expr='identity')",
    "day_idx": "column_stats(d) OPTIONS(expr='identity')",
    "year_idx": "column_stats(d) OPTIONS(expr='year')",
    "hour_idx": "column_stats(seconds) OPTIONS(expr='from_unixtime', format='yyyy-MM-dd HH')",
    "lower_idx": "bloom_filters(id) OPTIONS(expr='lower')",
    "name_idx": "bloom_filters(name) OPTIONS(expr='identity')",
    "part_idx": "column_stats(name) OPTIONS(expr='substring', pos='6', len='1')",
}
BY_EXPRESSIONS = (
    "n = 30",
    "n > 150",
    "year(d) = 2021",
    "lower(id) = 'k03'",
    "id = 'K03'",
    "from_unixtime(seconds, 'yyyy-MM-dd HH') = '2023-11-14 22'",
)


def cause(error: Exception) -> str:
    """Return the first line of the innermost Java error."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    return str(java.toString() if java is not None else error).splitlines()[0]


def create_expression_indexes(t: Writer, *kinds: str) -> None:
    """Create the expression indexes of some kinds; Apache Hudi refuses some."""
    for name, definition in EXPRESSIONS.items():
        if not definition.startswith(kinds):
            continue
        try:
            t.sql(f"CREATE INDEX {name} ON {{t}} USING {definition}")
        except Exception as error:  # noqa: BLE001  (which ones Apache Hudi refuses is an outcome)
            t.failures.append(f"{name}: {cause(error)}")


EXPRESSION_COLUMNS = "id string, name string, n int, d date, seconds bigint"


@case(
    "expression indexes, created late",
    "cow",
    EXPRESSION_COLUMNS,
    {**RECORD_INDEX, **NO_STATS, **SMALL_FILES},
    BY_EXPRESSIONS,
)
def expression_cow(t: Writer) -> None:
    for begin in (0, 4, 8, 12):
        t.upsert(*(of_expression(i, 100, "ab"[begin // 4 % 2]) for i in range(begin, begin + 4)))
    create_expression_indexes(t, "column_stats", "bloom_filters")


@case(
    "expression indexes that later commits go on with: updates, deletes, log files",
    "mor",
    EXPRESSION_COLUMNS,
    {**RECORD_INDEX, **NO_STATS, **SMALL_FILES},
    BY_EXPRESSIONS,
)
def expression_mor(t: Writer) -> None:
    for begin in (0, 4, 8, 12):
        t.upsert(*(of_expression(i, 100, "ab"[begin // 4 % 2]) for i in range(begin, begin + 4)))
    create_expression_indexes(t, "column_stats")  # Bloom filters of log files fail
    try:
        moved = row("K01", "Name 9", 999, "2030-01-01", 1_700_000_000, 110, "a")
        t.upsert(moved, of_expression(20, 110, "b"))
        t.upsert(of_expression(2, 120, "a"), operation="delete")
    except Exception as error:  # noqa: BLE001
        t.failures.append(f"update: {cause(error)}")


def equalities(rows: list[dict[str, object]]) -> list[str]:
    """Return a condition for each value of the columns that have an index of their values."""
    found = {
        f"{column} = {sql_text(each[column])}"
        for each in rows
        for column in ("city", "n")
        if column in each
    }
    return sorted(found)


def main(names: list[str]) -> None:
    jar = os.environ["HUDI_JAR"]
    scratch = Path(tempfile.mkdtemp())
    spark = hudi_session(jar, SETTINGS | {"spark.sql.warehouse.dir": str(scratch / "w")})
    for name in names or CASES:
        chosen = CASES[name]
        t = Writer(spark, name, scratch / "tables" / name, chosen)
        t.create()
        chosen.write(t)
        expected = t.rows("true", WITHOUT_INDEXES)
        lost = {}
        for condition in (*chosen.conditions, *equalities(expected)):
            every = {str(r["id"]) for r in t.rows(condition, WITHOUT_INDEXES)}
            lost[condition] = sorted(every - {str(r["id"]) for r in t.rows(condition, {})})
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            f"{name}/{f.relative_to(t.path)}": f.read_bytes()
            for f in t.path.rglob("*")
            if f.is_file() and not f.name.endswith(".crc")
        }
        write_archive(folder / "table.zip", files)
        facts = {
            "name": name,
            "description": chosen.description,
            "reference": "The rows are those of Apache Hudi 1.2.0 without data skipping.",
            "table_version": 9,
            "table_type": {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[chosen.kind],
            "rows": "rows.json",
            "lost": "lost.json",
        }
        answers = {"rows.json": expected, "lost.json": lost}
        write_case(folder, facts, {k: json.dumps(v, indent=1).encode() for k, v in answers.items()})
        print(name, len(expected), "lost:", lost, *t.failures, sep="\n  ", flush=True)
    spark.stop()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main(sys.argv[1:])
