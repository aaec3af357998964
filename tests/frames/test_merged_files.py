"""Engines that read base files by themselves find the rows that Apache Hudi reads."""

import logging
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from unittest.mock import Mock
from zipfile import ZipFile

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudi_pyspark
from hudi_pyspark import HudiTable, PathOutsideTableError
from hudi_pyspark.frames.merged_files import is_exact_type, merged_files
from hudi_pyspark.tasks import ScanTask
from tests.conftest import GOLDEN
from tests.frames.conditions import random_condition
from tests.frames.golden_rows import COUNT, MOR, POLARS, bag, snapshot
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.filters import random_filter
from tests.growing_table import table_at

CASES = {
    case.name: case
    for case in load_cases(GOLDEN)
    if any(query.name == "snapshot" and query.answer for query in case.queries)
    and f"{case.name}/snapshot" not in accepted_deviations()
}
SHAPES = {  # how a table's log records meet its base files
    "v9_mor_compaction_inline",
    "v9_mor_clustering",
    "v8_mor_partial_merge_into",
    "v9_mor_multi_ordering",
    "v10_lsm_mor_deletes",
    "v6_mor_payload_overwrite_with_latest",
}
needs_file_index = pytest.mark.skipif(
    tuple(map(int, duckdb.__version__.split(".")[:2])) < (1, 3),
    reason="DuckDB 1.3 is the first that numbers files",
)


def exact_columns(table: HudiTable) -> list[str]:
    return [field.name for field in table.scan().schema if is_exact_type(field.type)]


def is_native(table: HudiTable, columns: list[str]) -> bool:
    frame = hudi_pyspark.scan_polars(table, columns, merge_first=True)
    relation = table.scan(columns).to_duckdb("t", merge_first=True).table("t")
    by_engines = "Hudi" not in frame.explain(), "PARQUET" in relation.explain().upper()
    return all(by_engines) and len(set(by_engines)) == 1


@pytest.mark.parametrize("case", CASES)
def test_engines_read_what_hudi_reads(case, golden_table):
    table = HudiTable(golden_table(case))
    columns = exact_columns(table)
    wanted = snapshot(case, table.scan(columns).schema)
    view = table.scan(columns).to_duckdb("t", merge_first=True)
    assert bag(arrow(view, wanted.schema)) == bag(wanted)
    assert view.execute("SELECT count(*) FROM t").fetchall() == [(wanted.num_rows,)]
    frame = hudi_pyspark.scan_polars(table, columns, merge_first=True)
    assert bag(frame.collect().to_arrow().cast(wanted.schema)) == bag(wanted)
    assert frame.select(pl.len()).collect().item() == wanted.num_rows


def test_engine_does_not_open_a_file_outside_of_the_table(golden_table):
    table = HudiTable(golden_table("v9_mor_clustering"))
    scan = table.scan(exact_columns(table))
    task, *_ = scan.plan()
    assert isinstance(task, ScanTask)
    assert task.file_slice.base_file is not None
    base = replace(task.file_slice.base_file, path=f"../other/{task.file_slice.base_file.path}")
    hostile = replace(task, file_slice=replace(task.file_slice, base_file=base))
    said = Mock(wraps=scan, schema=scan.schema, storage=scan.storage, plan=lambda: [hostile])
    with pytest.raises(PathOutsideTableError):
        merged_files(said, is_exact_type, lambda _: True, reserved=())


def arrow(database: duckdb.DuckDBPyConnection, schema: pa.Schema) -> pa.Table:
    return database.sql("FROM t").to_arrow_table().cast(schema)


@needs_file_index
@pytest.mark.full
def test_most_tables_are_read_by_the_engine(golden_table):
    native = set()
    for case in CASES:
        table = HudiTable(golden_table(case))
        if is_native(table, exact_columns(table)):
            native.add(case)
    assert len(native) > len(CASES) // 3
    assert native >= SHAPES


@needs_file_index
@pytest.mark.property
@pytest.mark.parametrize("case", sorted(SHAPES))
def test_conditions_are_answered_as_on_the_rows_themselves(case, golden_table):
    table = HudiTable(golden_table(case))
    columns = exact_columns(table)
    assert is_native(table, columns)
    known = snapshot(case, table.scan(columns).schema)
    view = table.scan(columns).to_duckdb("t", merge_first=True)
    eager = duckdb.connect()
    eager.register("t", known)
    frame = hudi_pyspark.scan_polars(table, columns, merge_first=True)
    rows = pl.DataFrame(known)
    answered = 0
    for seed in range(COUNT):
        where = random_filter(known, Random(seed)).text.replace("`", '"')
        condition = random_condition(known, Random(seed))(POLARS)
        try:
            wanted = eager.execute(f"FROM t WHERE {where}").fetchall()
            wanted_by_polars = rows.lazy().filter(condition).collect().rows()
        except (duckdb.Error, pl.exceptions.PolarsError):
            continue
        answered += 1
        found = view.execute(f"FROM t WHERE {where}").fetchall()
        assert Counter(map(str, found)) == Counter(map(str, wanted)), where
        found = frame.filter(condition).collect().rows()
        assert Counter(map(str, found)) == Counter(map(str, wanted_by_polars)), condition
    assert answered >= COUNT // 2


@pytest.fixture
def table(golden_table):
    return HudiTable(golden_table(MOR))


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "by hudi-py" in record.getMessage()]


@needs_file_index
def test_duckdb_reads_the_files_itself(table):
    columns = exact_columns(table)
    database = table.scan(columns).to_duckdb("orders", merge_first=True)
    ((_, plan),) = database.execute("EXPLAIN SELECT id FROM orders").fetchall()
    assert "PARQUET" in plan.upper()
    assert "ANTI" in plan.upper()


@pytest.mark.parametrize(
    "lock",
    ["SET enable_external_access = false", "SET disabled_filesystems = 'LocalFileSystem'"],
)
def test_duckdb_that_must_not_read_files_has_the_usual_view(lock, table, caplog):
    caplog.set_level(logging.INFO)
    columns = exact_columns(table)
    database = duckdb.connect()
    database.execute(lock)
    schema = table.scan(columns).schema
    found = arrow(table.scan(columns).to_duckdb("t", database, merge_first=True), schema)
    assert bag(found) == bag(snapshot(MOR, schema))
    assert database.sql("SHOW TABLES").fetchall() == [("t",)]
    assert any("DuckDB cannot: Permission Error" in reason for reason in reasons(caplog))


def test_nan_is_found_although_bounds_leave_it_out(golden_table):
    """DuckDB believes bounds of floating-point columns; polars is not shown them."""
    path = golden_table("v9_mor_all_types")
    table = HudiTable(path)
    floats = [f.name for f in table.scan().schema if pa.types.is_floating(f.type)]
    known = snapshot("v9_mor_all_types", table.scan(floats).schema)
    frame = hudi_pyspark.scan_polars(table, floats, merge_first=True)
    view = table.scan(floats).to_duckdb("t", merge_first=True)
    eager = duckdb.connect()
    eager.register("t", known)
    for name in floats:
        for condition in (f'"{name}" > 1e300', f"\"{name}\" = 'nan'", f'NOT ("{name}" < 1e300)'):
            wanted = eager.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
            assert view.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall() == wanted
        for odd in (pl.col(name) > 1e300, pl.col(name).is_nan(), ~(pl.col(name) < 1e300)):
            height = pl.DataFrame(known).filter(odd).height
            assert frame.filter(odd).collect().height == height


def test_a_view_takes_the_place_of_another(table, tmp_path):
    columns = exact_columns(table)
    with duckdb.connect(str(tmp_path / "some.duckdb")) as database:
        for merge_first in (True, False, True, True):
            name = 'my "orders"'
            table.scan(columns).to_duckdb(name, database, merge_first=merge_first)
            count = database.execute('SELECT count(*) FROM "my ""orders"""').fetchall()
            assert count == [(snapshot(MOR, table.schema).num_rows,)]
    with duckdb.connect(str(tmp_path / "some.duckdb")) as database:
        assert database.execute("SHOW TABLES").fetchall() == []


def test_the_view_keeps_its_state(tmp_path):
    table = table_at(MOR, "20261121062703875", tmp_path)
    opened = HudiTable(table.path)
    columns = exact_columns(opened)
    view = opened.scan(columns).to_duckdb("t", merge_first=True)
    frame = hudi_pyspark.scan_polars(opened, columns, merge_first=True)
    before = sorted(view.execute("FROM t").fetchall())
    table.grow()
    assert sorted(view.execute("FROM t").fetchall()) == before
    assert sorted(frame.collect().rows()) == before
    later = HudiTable(table.path).scan(columns).to_duckdb("t", merge_first=True)
    wanted = snapshot(MOR, HudiTable(table.path).scan(columns).schema)
    assert bag(arrow(later, wanted.schema)) == bag(wanted)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"filter": "qty > 10"}, "the scan has a filter"),
        ({"begin": "earliest"}, "the query is no snapshot"),
        ({"hoodie.datasource.merge.type": "skip_merge"}, "engines do not follow merge_type"),
        ({"columns": ["amount"]}, "column 'amount' of type double may be read in another way"),
    ],
)
def test_other_reads_stay_with_this_reader(options, why, table, caplog):
    caplog.set_level(logging.INFO, "hudi_pyspark")
    scan = table.scan(**{"columns": ["id", "qty"], **options})
    found = arrow(scan.to_duckdb("t", merge_first=True), scan.schema)
    assert bag(found) == bag(scan.to_arrow())
    (reason,) = reasons(caplog)
    assert why in reason


@pytest.mark.parametrize(
    ("length", "code"),
    [
        (None, "HUDI_MISSING_FILE"),
        (0, "HUDI_CORRUPT_TABLE"),
        (10, "HUDI_CORRUPT_BASE_FILE"),
        (1_000, "HUDI_CORRUPT_BASE_FILE"),
    ],
)
def test_a_lost_or_damaged_base_file_is_a_named_error(length, code, tmp_path):
    opened = HudiTable(table_at(MOR, "20261121062703875", tmp_path).path)
    columns = exact_columns(opened)
    opened.scan(columns).plan()
    for file in opened_files(opened):
        if length is None:
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:length])
    scan = opened.scan(columns)
    with pytest.raises(Exception, match=code):
        scan.to_duckdb("t", merge_first=True).execute("FROM t").fetchall()
    with pytest.raises(Exception, match=code):
        hudi_pyspark.scan_polars(opened, columns, merge_first=True).collect()


def opened_files(table: HudiTable) -> list[Path]:
    slices = table.inspect.file_slices().to_pylist()
    return [Path(str(table.path), s["base_file"]) for s in slices if s["base_file"]]


def test_a_folder_with_wildcards_stays_with_this_reader(tmp_path, caplog):
    caplog.set_level(logging.INFO, "hudi_pyspark")
    copy = tmp_path / "a[1]*"
    with ZipFile(next((GOLDEN / MOR).glob("*.zip"))) as archive:
        archive.extractall(copy)
    path = next(folder.parent for folder in copy.rglob(".hoodie") if folder.is_dir())
    found = HudiTable(path).scan(["id"]).to_duckdb("t", merge_first=True)
    ids = snapshot(MOR, HudiTable(path).scan(["id"]).schema)
    assert found.execute("SELECT count(*) FROM t").fetchall() == [(ids.num_rows,)]
    assert "wildcards" in reasons(caplog)[0]


def test_damaged_statistics_of_a_partition_column_are_not_believed(tmp_path):
    """A file with another value than its folder says: the folder decides, as in Apache Hudi."""
    from hudi_pyspark.format.parquet.checked_file import has_only_value

    day = pa.scalar(date(2024, 1, 1))
    for values, expected in (
        ([day.as_py()] * 3, True),
        ([day.as_py(), None], False),
        ([day.as_py(), date(2024, 1, 2)], False),
    ):
        column = pa.array(values, pa.date32())
        pq.write_table(pa.table({"d": column}), tmp_path / "f.parquet")
        with pq.ParquetFile(tmp_path / "f.parquet") as file:
            assert has_only_value(file, pa.field("d", pa.date32()), day) is expected
    pq.write_table(pa.table({"d": column}), tmp_path / "f.parquet", write_statistics=False)
    with pq.ParquetFile(tmp_path / "f.parquet") as file:
        assert not has_only_value(file, pa.field("d", pa.date32()), day)
