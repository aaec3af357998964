"""Ray, Daft, Dask and DataFusion read tables by several processes (`make test-engines`)."""

import os
import re
import shutil
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

import hudi_pyspark
from hudi_pyspark import HudiTable
from tests.conftest import PROJECT
from tests.frames.conditions import Words, random_condition
from tests.frames.dying_files import DyingFiles
from tests.frames.golden_rows import CASES, MOR, bag, snapshot
from tests.golden.filters import random_filter

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]
ENGINES = ["ray", "daft", "dask"]
COUNT = settings().max_examples // 6  # conditions for each table


@pytest.fixture(scope="module", autouse=True)
def _clusters():
    """Two worker processes for each engine."""
    import daft
    import distributed
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT))
        ray.init(
            num_cpus=2, include_dashboard=False, object_store_memory=2**28, log_to_driver=False
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        daft.set_runner_ray()
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with cluster, distributed.Client(cluster):
            yield
        ray.shutdown()


def to_frame(engine, rows):
    """A frame of an engine, of a scan or of rows in memory."""
    import daft
    import ray

    from examples.engines import to_daft, to_dask, to_ray

    is_table = isinstance(rows, pa.Table)
    if engine == "ray":
        return ray.data.from_arrow(rows) if is_table else to_ray(rows.to_dataset())
    if engine == "daft":
        return daft.from_arrow(rows) if is_table else to_daft(rows.to_dataset())
    return to_dask(rows.to_dataset())


def collected(engine, frame) -> pa.Table:
    if engine == "daft":
        return frame.to_arrow()
    if engine == "dask":
        return pa.Table.from_pandas(frame.compute(), preserve_index=False)
    tables = list(frame.iter_batches(batch_format="pyarrow", batch_size=None))
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def each_slice(path, columns=None, **options):
    """A scan with a task for each file slice."""
    return HudiTable(path, **options).scan(columns, task_bytes=1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_engine_has_the_rows(case, engine, golden_table):
    scan = each_slice(golden_table(case))
    known = snapshot(case, scan.schema)
    frame = to_frame(engine, scan)
    assert bag(collected(engine, frame).select(known.schema.names)) == bag(known)
    some = known.schema.names[-2:]
    narrow = {"ray": "select_columns", "daft": "select", "dask": "__getitem__"}[engine]
    arguments = some if engine == "daft" else [some]
    assert bag(collected(engine, getattr(frame, narrow)(*arguments))) == bag(known.select(some))
    count = {"ray": "count", "daft": "count_rows", "dask": "__len__"}[engine]
    assert getattr(frame, count)() == len(known)


def words_of(engine) -> Words:
    import daft
    from ray.data.expressions import col

    if engine == "ray":
        return Words(
            col,
            lambda values, listed: values.is_in(listed),
            lambda values: values.is_not_null(),
            lambda texts, prefix: texts.str.starts_with(prefix),
        )
    return Words(
        daft.col,
        lambda values, listed: values.is_in(listed),
        lambda values: values.not_null(),
        lambda texts, prefix: texts.startswith(prefix),
    )


@pytest.mark.parametrize("engine", ["ray", "daft"])
@pytest.mark.parametrize("case", CASES[:3])
def test_engine_answers_as_on_the_rows_themselves(case, engine, golden_table):
    schema = HudiTable(golden_table(case)).scan().schema
    # Daft fails to filter maps of structs with a date.
    scan = each_slice(golden_table(case), [f.name for f in schema if not pa.types.is_map(f.type)])
    known = snapshot(case, scan.schema)
    lazy, eager = to_frame(engine, scan), to_frame(engine, known)
    words = words_of(engine)
    keep = {"ray": lambda frame, e: frame.filter(expr=e), "daft": lambda frame, e: frame.where(e)}
    answered = 0
    for seed in range(COUNT):
        rng = Random(seed)
        make = random_condition(known, rng)
        columns = rng.sample(known.schema.names, 2)
        try:
            condition = make(words)
            wanted = collected(engine, keep[engine](eager, condition))
        except Exception:  # noqa: BLE001  (the engine cannot evaluate it)
            continue
        answered += 1
        found = collected(engine, keep[engine](lazy, condition))
        assert len(found) == len(wanted), (condition, seed)
        if len(wanted):
            assert bag(found.select(columns)) == bag(wanted.select(columns)), condition
    assert answered >= COUNT // 2


@pytest.mark.parametrize("case", CASES)
def test_datafusion_answers_as_on_the_rows_themselves(case, golden_table):
    import datafusion

    dataset = each_slice(golden_table(case)).to_dataset()
    known = snapshot(case, dataset.schema)
    lazy, eager = datafusion.SessionContext(), datafusion.SessionContext()
    lazy.register_dataset("t", dataset)
    eager.register_record_batches("t", [known.to_batches()])
    answered = 0
    for seed in range(COUNT * 4):
        where = random_filter(known, Random(seed)).text.replace("`", '"')
        query = f"SELECT * FROM t WHERE {where}"
        try:
            wanted = eager.sql(query).to_arrow_table()
        except Exception:  # noqa: BLE001  (its class is Exception)
            continue
        answered += 1
        assert bag(lazy.sql(query).to_arrow_table()) == bag(wanted), where
    assert answered >= COUNT
    assert lazy.sql("SELECT count(*) FROM t").to_pydict() == {"count(*)": [len(known)]}


@pytest.mark.parametrize("engine", ENGINES)
def test_tasks_of_a_killed_worker_run_again(engine, golden_table, tmp_path):
    marker = tmp_path / "killed"
    files = DyingFiles(str(marker), os.getpid())
    scan = each_slice(golden_table(MOR), ["id", "amount"], filesystem=files)
    found = collected(engine, to_frame(engine, scan))
    assert marker.exists()
    assert bag(found) == bag(snapshot(MOR, scan.schema))


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_tables_have_no_rows(engine, golden_table):
    scan = each_slice(golden_table("v9_mor_empty_table"))
    assert len(collected(engine, to_frame(engine, scan))) == 0


def test_page_about_engines_runs(monkeypatch):
    import ibis

    monkeypatch.chdir(PROJECT)
    monkeypatch.syspath_prepend("examples")  # the page imports a copy of engines.py
    text = (PROJECT / "docs" / "without-spark.md").read_text(encoding="utf-8")
    page = text.partition("## Other engines")[2]
    code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    shutil.unpack_archive("examples/data/orders.zip", "build")
    names: dict[str, Any] = {"hudi_pyspark": hudi_pyspark, "table": HudiTable("build/orders")}
    exec("\n".join(code), names)
    database = ibis.duckdb.from_connection(names["database"])
    # What Apache Hudi 1.2.0 returns (golden case v9_mor_part_basic).
    assert database.table("orders").count().execute() == 47
    assert pq.read_metadata("build/orders.parquet").num_rows == 47


def test_datafusion_finds_nan_where_it_is_asked_for(golden_table):
    """Conditions go to pyarrow, to which NaN is not greater than a number."""
    import datafusion

    table = HudiTable(golden_table("v9_mor_all_types"))
    known = snapshot("v9_mor_all_types", table.schema)
    context = datafusion.SessionContext()
    context.register_dataset("t", table.dataset())
    floats = [f.name for f in known.schema if pa.types.is_floating(f.type)]
    number = {name: pc.sum(pc.is_nan(known[name])).as_py() for name in floats}
    assert any(number.values())
    for name in floats:
        for condition, wanted in (("", 0), (f" OR isnan({name})", number[name])):
            rows = context.sql(f"SELECT id FROM t WHERE {name} > 'infinity'{condition}").collect()
            assert sum(batch.num_rows for batch in rows) == wanted
