"""Tables and what they return can be sent to another process, whatever was asked of them before."""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest

import hudi_pyspark
from hudi_pyspark import HudiError, HudiTable, Scan, thresholds
from hudi_pyspark.frames.dataset import HudiDataset
from hudi_pyspark.inspection import Inspection
from hudi_pyspark.report.report import Report
from tests.conftest import GOLDEN
from tests.golden.case import load_case

if TYPE_CHECKING:
    from collections.abc import Callable

CASE = "v9_mor_mdt_indexes"  # with each index of a metadata table
CLOUDPICKLE = pytest.importorskip("pyspark.cloudpickle")  # as Spark, Ray and Dask pickle
KEY = "_hoodie_record_key"


def key_of(table: HudiTable) -> str:
    return str(table.scan([KEY]).to_arrow()[0][0])


def instants(table: HudiTable) -> list[str]:
    return [str(time) for time in table.inspect.commits()["requested_time"].to_pylist()]


def refused(ask: Callable[[], object]) -> None:
    with pytest.raises(HudiError):
        ask()


TABLE: dict[str, Callable[[HudiTable], object]] = {
    "changes": lambda table: refused(table.changes),
    "columns": lambda table: table.columns,
    "config": lambda table: table.config,
    "dataset": lambda table: table.dataset().to_table(),
    "description": lambda table: table.description.to_html(),
    "diff": lambda table: table.diff(instants(table)[0], instants(table)[-1]),
    "doctor": lambda table: table.doctor(deep=True),
    "history": lambda table: table.history(key_of(table)),
    "inspect": lambda table: table.inspect,
    "is_current": lambda table: table.is_current(),
    "last_instant": lambda table: table.last_instant,
    "lookup": lambda table: table.lookup(key_of(table), unique_keys=True),
    "refresh": lambda table: table.refresh(),
    "report": lambda table: table.report(),
    "rows": lambda table: table.rows.to_arrow(),
    "scan": lambda table: table.scan(as_of=table.last_instant).to_arrow(),
    "schema": lambda table: table.schema,
    "to_arrow": HudiTable.to_arrow,
    "to_pandas": HudiTable.to_pandas,
    "to_polars": HudiTable.to_polars,
    "to_duckdb": lambda table: table.to_duckdb("t").sql("SELECT count(*) FROM t").fetchall(),
}
SCAN: dict[str, Callable[[Scan], object]] = {
    "columns": lambda scan: scan.columns,
    "count": Scan.count,
    "end": lambda scan: scan.end,
    "explain": Scan.explain,
    "head": Scan.head,
    "filter": lambda scan: scan.filter(pc.field(KEY) == "1").to_arrow(),
    "plan": Scan.plan,
    "schema": lambda scan: scan.schema,
    "select": lambda scan: scan.select([KEY]),
    "storage": lambda scan: scan.storage,
    "to_arrow": Scan.to_arrow,
    "to_batches": lambda scan: scan.to_batches().read_all(),
    "to_dataset": lambda scan: scan.to_dataset(),
    "to_duckdb": lambda scan: (
        scan.to_duckdb("t", merge_first=True).sql("SELECT count(*) FROM t").fetchall()
    ),
    "to_pandas": Scan.to_pandas,
    "to_polars": Scan.to_polars,
}
DATASET: dict[str, Callable[[HudiDataset], object]] = {
    "filter": lambda dataset: dataset.filter(pc.field(KEY) == "1").to_table() and None,
    "get_fragments": lambda dataset: list(dataset.get_fragments(pc.field(KEY) == "1")),
    "scanner": lambda dataset: dataset.scanner([KEY]).to_table(),
    "count_rows": HudiDataset.count_rows,
    "sort_by": lambda dataset: dataset.sort_by(KEY).to_table() and None,
    "join": lambda dataset: dataset.join(dataset, KEY, right_suffix="_2").to_table() and None,
}


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def copies(value: Any) -> list[Any]:
    return [pickle.loads(module.dumps(value)) for module in (pickle, CLOUDPICKLE)]


@pytest.fixture(scope="module")
def rows() -> int:
    query = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    return len(query.expected_rows().to_pylist())


@pytest.fixture
def table(golden_table: Callable[[str], Any]) -> HudiTable:
    return HudiTable(golden_table(CASE))


def test_each_public_method_is_asked():
    # Those that open a table, and the one that hands the scan to Spark by its options, are not.
    assert public(HudiTable) == {*TABLE, "from_catalog"}
    assert public(Scan) == {*SCAN, "to_spark"}
    assert public(HudiDataset) <= set(DATASET)


@pytest.mark.parametrize("name", TABLE)
def test_table_travels_after_each_method(name, table, rows):
    answer = TABLE[name](table)
    for copy in copies(table):
        assert copy.scan().to_arrow().num_rows == rows
        assert copy.lookup(key_of(table)).num_rows == 1
    assert len(copies(answer)) == 2


@pytest.mark.parametrize("name", SCAN)
def test_scan_travels_after_each_method(name, table, rows):
    scan = table.scan()
    answer = SCAN[name](scan)
    for copy in copies(scan):
        assert copy.count() == copy.to_arrow().num_rows == rows
    assert len(copies(answer)) == 2


@pytest.mark.parametrize("name", DATASET)
def test_dataset_travels_after_each_method(name, table, rows):
    dataset = table.dataset()
    answer = DATASET[name](dataset)
    assert [copy.count_rows() for copy in copies(dataset)] == [rows, rows]
    assert len(copies(answer)) == 2


@pytest.mark.parametrize(
    ("case", "options"),
    [
        (CASE, {"begin": "earliest"}),
        (CASE, {"query_type": "read_optimized"}),
        ("v9_mor_cdc_data_before_after", {"begin": "earliest", "cdc": True}),
    ],
)
def test_scans_of_other_kinds_travel(case, options, golden_table):
    scan = HudiTable(golden_table(case)).scan(**options)
    known = scan.to_arrow().num_rows
    assert [copy.to_arrow().num_rows for copy in copies(scan)] == [known, known]


def test_inspection_travels_after_each_method(table):
    inspection = table.inspect
    file_id = inspection.file_slices()["file_id"][0].as_py()
    log = inspection.files().filter(pc.field("kind") == "log")["path"][0].as_py()
    given = {"commit_files": instants(table)[-1:], "history": [file_id], "log_records": [log]}
    for name in public(Inspection):
        getattr(inspection, name)(*given.get(name, ()))
    for copy in copies(inspection):
        assert copy.commits() == inspection.commits()


def test_report_travels_after_each_method(table, tmp_path):
    report = table.report()
    asked = {"content", "default_file", "of", "save", "severity", "to_html", "to_json"}
    assert public(Report) == asked | {"of_unopened", "severities"}
    report.save(tmp_path / "page.html")
    for copy in copies(report):
        assert copy.to_html() == report.to_html()
        assert copy.to_json() == report.to_json()
        assert copy.severities() == report.severities()


def test_lazy_frame_of_polars_travels(table, rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", CLOUDPICKLE)  # which polars imports
    frame = hudi_pyspark.scan_polars(table)
    assert frame.collect().height == rows
    assert [copy.collect().height for copy in copies(frame)] == [rows, rows]


def test_table_travels_with_write_stats_that_are_decoded_late(table, rows, monkeypatch):
    monkeypatch.setattr(thresholds, "LARGE_COMMIT", 0)
    assert table.scan().count() == rows
    for copy in copies(table):
        assert copy.scan().count() == rows


def test_what_is_cheap_to_find_again_stays(table):
    before = len(pickle.dumps(table))
    table.lookup(key_of(table), unique_keys=True)
    assert table._metadata.__dict__.keys() > {"table", "_indexes"}
    (copy, _) = copies(table)
    assert copy._metadata.__dict__.keys() == {"table"}
    assert "completed" not in copy._view.timeline.__dict__
    assert len(pickle.dumps(table)) < 5 * before
