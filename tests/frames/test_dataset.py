"""Engines that plan on a table find the rows that Apache Hudi reads."""

import gc
import pickle
import signal
from collections import Counter
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given
from hypothesis import strategies as st

import hudi_pyspark
from hudi_pyspark import HudiTable, MissingFileError, UnsupportedQueryError
from hudi_pyspark.filter.evaluation import holds
from hudi_pyspark.frames.dataset import HudiScanner
from hudi_pyspark.frames.expression import pruning
from hudi_pyspark.frames.polars import parse_expression
from tests.conftest import GOLDEN
from tests.damage import data_file, unpack
from tests.frames.conditions import PYARROW, TABLE, random_condition
from tests.frames.golden_rows import CASES, COUNT, MOR, POLARS, bag, snapshot
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.golden.filters import random_filter
from tests.growing_table import table_at

FIELD = pc.field


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
def test_dataset_has_the_rows_for_which_an_expression_is_true(case, golden_table):
    dataset = HudiTable(golden_table(case)).dataset()
    known = snapshot(case, dataset.schema)
    for seed in range(COUNT):
        rng = Random(seed)
        condition = random_condition(known, rng)(PYARROW)
        columns = rng.sample(dataset.schema.names, 3)
        try:
            wanted = ds.InMemoryDataset(known).to_table(columns, filter=condition)
        except pa.ArrowException as refused:
            with pytest.raises(type(refused)):
                dataset.to_table(columns, filter=condition)
            continue
        found = dataset.to_table(columns, filter=condition)
        assert found.schema == wanted.schema
        assert bag(found) == bag(wanted), condition
        assert dataset.count_rows(filter=condition) == len(wanted)
        assert dataset.filter(condition).head(2).num_rows == min(2, len(wanted))
        parts = [p.to_table(columns=columns) for p in dataset.get_fragments(condition)]
        assert bag(pa.concat_tables([found.slice(0, 0), *parts])) == bag(wanted)


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
def test_duckdb_answers_as_on_the_rows_themselves(case, golden_table):
    table = HudiTable(golden_table(case))
    known = snapshot(case, table.scan().schema)
    lazy = table.to_duckdb("t")
    eager = duckdb.connect().register("t", known)
    answered = 0
    for seed in range(COUNT):
        where = random_filter(known, Random(seed)).text.replace("`", '"')
        try:
            wanted = eager.execute(f"FROM t WHERE {where}").fetchall()
        except duckdb.Error:  # X'00' for example
            continue
        answered += 1
        found = lazy.execute(f"FROM t WHERE {where}").fetchall()
        assert Counter(map(str, found)) == Counter(map(str, wanted)), where
    assert answered >= COUNT / 2


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_answers_as_on_the_rows_themselves(case, engine, golden_table):
    table = HudiTable(golden_table(case))
    rows = snapshot(case, table.scan().schema)
    known = pl.DataFrame(rows)
    lazy = hudi_pyspark.scan_polars(table)
    # Polars writes NOT IN in pyarrow's words, for which null is in no list: the same is asked.
    datasets = [pl.scan_pyarrow_dataset(d) for d in (table.dataset(), ds.InMemoryDataset(rows))]
    for seed in range(COUNT):
        rng = Random(seed)
        condition = random_condition(known.to_arrow(), rng)(POLARS)
        columns = rng.sample(known.columns, 3)
        query = known.lazy().filter(condition).select(columns)
        try:
            wanted = query.collect().rows()
        except pl.exceptions.PolarsError:
            continue
        found, by_dataset, of_rows = (
            Counter(map(str, f.filter(condition).select(columns).collect(engine=engine).rows()))
            for f in (lazy, *datasets)
        )
        assert found == Counter(map(str, wanted)), condition
        assert by_dataset == of_rows, condition
        first = lazy.head(5).filter(condition).collect(engine=engine)
        assert set(map(str, first.select(columns).rows())) <= set(map(str, wanted))
        assert len(lazy.filter(condition).head(2).collect(engine=engine)) == min(2, len(wanted))


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_no_row_is_left_out_for_which_an_expression_of_polars_is_true(seed):
    expression = random_condition(TABLE, Random(seed))(POLARS)
    frame = pl.DataFrame(TABLE).with_row_index("row")
    try:
        wanted = frame.filter(expression)["row"].to_numpy()
    except pl.exceptions.PolarsError:
        return
    predicate = pruning(parse_expression(expression), TABLE.schema)
    assert predicate is None or holds(predicate, TABLE)[wanted].all(), expression


@pytest.fixture
def table(golden_table):
    return HudiTable(golden_table(MOR))


def test_duckdb_view_joins_groups_and_outlives_the_call(table):
    database = duckdb.connect()

    def register() -> None:
        table.to_duckdb("orders", database)
        table.scan(["id", "region"]).to_duckdb("regions", database)

    register()
    gc.collect()
    query = """
        SELECT region, count(*), round(sum(amount), 2)
        FROM orders JOIN regions USING (id, region) WHERE qty > 10 GROUP BY 1 ORDER BY 1"""
    lazy = database.execute(query).fetchall()
    known = duckdb.connect().register("orders", snapshot(MOR, table.schema))
    known.register("regions", snapshot(MOR, table.schema).select(["id", "region"]))
    assert lazy == known.execute(query).fetchall() != []


def test_duckdb_passes_on_columns_and_filter(table):
    database = table.to_duckdb("orders")
    query = "EXPLAIN SELECT id FROM orders WHERE region = 'emea' AND qty > 2"
    ((_, plan),) = database.execute(query).fetchall()
    # The scan alone: nothing is filtered after it. DuckDB 1 draws boxes with corners.
    assert sum(map(plan.count, "╭┌")) == 1
    assert "Filters: " in plan
    assert " id " in plan
    assert "amount" not in plan


def test_plan_of_polars_shows_what_it_reads(table):
    frame = hudi_pyspark.scan_polars(table, as_of=table.last_instant, limit=10)
    plan = frame.filter(pl.col("qty") > 1).select("id").explain()
    assert "PYTHON[Hudi] SCAN" in plan
    assert f"snapshot of {table.path} as of {table.last_instant}" in plan


def test_streaming_engine_of_polars_writes_a_table(table, tmp_path):
    hudi_pyspark.scan_polars(table).filter(pl.col("qty") > 10).sink_parquet(tmp_path / "out")
    known = pl.DataFrame(snapshot(MOR, table.schema)).filter(pl.col("qty") > 10)
    assert sorted(pl.read_parquet(tmp_path / "out").rows()) == sorted(known.rows())


@pytest.mark.parametrize("case", [MOR, "v9_mor_cdc_data_before_after"])
def test_every_kind_of_query_is_a_dataset(case, golden_table):
    table = HudiTable(golden_table(case))
    for query in load_case(GOLDEN / case).queries:
        if query.answer is not None:
            dataset = table.scan(**query.options).to_dataset()
            wanted = query.expected_rows(), query.expected_schema()
            assert differences(dataset.to_table(), *wanted) == [], query.name
            parts = [part.to_table() for part in dataset.get_fragments()]
            rows = pa.concat_tables([dataset.schema.empty_table(), *parts])
            assert differences(rows, *wanted) == [], query.name


def test_frames_stay_as_the_table_was_and_say_if_their_files_are_gone(tmp_path):
    table = table_at(MOR, "20261121062703875", tmp_path)
    opened = HudiTable(table.path)
    frame = hudi_pyspark.scan_polars(opened)
    dataset = opened.dataset()
    rows = dataset.to_table()
    table.grow()
    assert bag(HudiTable(table.path).dataset().to_table()) != bag(rows)
    assert bag(opened.dataset().to_table()) == bag(dataset.to_table()) == bag(rows)
    assert sorted(frame.collect().rows()) == sorted(pl.DataFrame(rows).rows())
    for file in table.path.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(MissingFileError, match="is not on the storage"):
        dataset.to_table()
    with pytest.raises(MissingFileError, match="is not on the storage"):
        frame.collect()
    with pytest.raises(duckdb.Error, match="is not on the storage"):
        opened.to_duckdb("orders").execute("FROM orders").fetchall()


@pytest.mark.parametrize(
    "fetch",
    [
        lambda database: database.execute("FROM orders").fetchall(),
        lambda database: database.sql("FROM orders").df(),
        lambda database: database.sql("FROM orders").show(),
        lambda database: database.sql("SELECT count(*) FROM orders").fetchall(),
        lambda database: pa.table(database.sql("FROM orders").arrow()),
    ],
    ids=["fetchall", "df", "show", "count", "arrow"],
)
def test_duckdb_shows_the_error_of_a_cut_log_file_in_one_line(fetch, tmp_path):
    path = unpack(MOR, tmp_path)
    log = data_file(path, ".*.log.*")
    log.write_bytes(log.read_bytes()[:-30])
    with pytest.raises((duckdb.Error, OSError)) as raised:
        fetch(HudiTable(path).to_duckdb("orders"))
    message = str(raised.value).strip()
    assert f"[HUDI_CORRUPT_LOG_BLOCK] {log} at byte " in message
    assert "Run hudi-py doctor on the table" in message
    assert len(message.splitlines()) == 1


def interrupted(table, monkeypatch):
    """The dataset of a table; the user presses Ctrl-C after each batch."""
    dataset = table.dataset()
    batches = HudiScanner._batches

    def pressed(scanner):
        for batch in batches(scanner):
            yield batch
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(HudiScanner, "_batches", pressed)
    return dataset


@pytest.fixture
def ctrl_c():
    """Let SIGINT raise KeyboardInterrupt: a process in the background of a shell ignores it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_duckdb_is_an_error_of_one_line(table, monkeypatch):
    database = duckdb.connect()
    database.register("t", interrupted(table, monkeypatch))
    with pytest.raises(duckdb.Error, match="KeyboardInterrupt") as raised:
        database.sql("SELECT sum(qty) FROM t").fetchall()
    assert "Traceback" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_stops_a_reader_by_keyboard_interrupt(table, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        interrupted(table, monkeypatch).to_table()


def test_arrow_consumers_take_scans_tables_and_scanners(table):
    known = bag(snapshot(MOR, table.schema))
    scanner = table.dataset().scanner(columns=["id"])
    for source in (table, table.scan(), table.dataset().scanner(limit=100)):
        assert bag(pa.table(source)) == known
        assert len(pl.DataFrame(source)) == 18
    assert scanner.projected_schema.names == pa.table(scanner).schema.names == ["id"]


def test_scanner_has_the_methods_of_pyarrow(table):
    scanner = table.dataset().scanner({"twice": FIELD("qty") * 2}, FIELD("qty") > 10, batch_size=3)
    known = snapshot(MOR, table.schema).filter(FIELD("qty") > 10)
    twice = pa.table({"twice": pc.multiply(known["qty"], 2)})
    assert scanner.dataset_schema == table.schema
    assert bag(scanner.to_table()) == bag(scanner.to_reader().read_all()) == bag(twice)
    assert max(batch.num_rows for batch in scanner.to_batches()) <= 3
    assert scanner.count_rows() == len(known)
    assert scanner.head(4).num_rows == scanner.take([0, 1, 2, 3]).num_rows == 4
    assert table.dataset(["id"]).count_rows() == 18


def test_fragments_travel_to_other_processes(table):
    wanted = snapshot(MOR, table.schema).filter(FIELD("region") == "emea").select(["id"])
    parts = [*table.dataset(task_bytes=1).get_fragments(FIELD("region") == "emea", ["id", "ts"])]
    assert len(parts) == 2  # of five file slices
    assert max(len(pickle.dumps(part)) for part in parts) < 10_000
    moved = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert bag(pa.concat_tables([part.to_table(columns=["id"]) for part in moved])) == bag(wanted)
    assert sum(part.count_rows() for part in moved) == len(wanted)
    assert moved[0].physical_schema.names == ["id", "ts", "region"]  # the filter needs it


def test_polars_over_a_dataset_compares_nan_as_pyarrow_does(golden_table):
    """Polars alone, and over `scan_polars`, takes NaN for the greatest number."""
    table = HudiTable(golden_table("v9_mor_all_types"))
    rows = pl.DataFrame(snapshot("v9_mor_all_types", table.scan().schema))
    lazy = pl.scan_pyarrow_dataset(table.dataset())
    name = next(n for n, t in rows.schema.items() if t.is_float() and rows[n].is_nan().any())
    largest = pl.col(name) > rows[name].fill_nan(None).max()
    number = rows.filter(pl.col(name).is_nan()).height
    assert number == rows.filter(largest).height
    assert hudi_pyspark.scan_polars(table).filter(largest).collect().height == number
    assert lazy.filter(largest).collect().height == 0
    assert lazy.filter(largest | pl.col(name).is_nan()).collect().height == number


def test_pyarrow_writes_a_dataset(table, tmp_path):
    ds.write_dataset(table.dataset(), tmp_path / "all", format="parquet")
    ds.write_dataset(table.dataset().scanner(["id"]), tmp_path / "ids", format="parquet")
    known = snapshot(MOR, table.schema)
    assert bag(ds.dataset(tmp_path / "all").to_table()) == bag(known)
    assert bag(ds.dataset(tmp_path / "ids").to_table()) == bag(known.select(["id"]))


def test_dataset_sorts_and_joins_as_a_dataset_of_files(table):
    wanted = ds.InMemoryDataset(snapshot(MOR, table.schema))
    dataset = table.dataset()
    times = table.dataset(["id", "ts"])
    wanted_times = ds.InMemoryDataset(wanted.to_table(["id", "ts"]))
    order = [("qty", "descending"), ("id", "ascending")]
    for condition in [pc.scalar(value=True), FIELD("qty") > 20]:
        kept = dataset.filter(condition)
        wanted_kept = wanted.filter(condition)
        assert kept.sort_by(order).to_table().equals(wanted_kept.sort_by(order).to_table())
        joined = wanted_kept.join(wanted_times, "id", right_suffix="_2").to_table()
        for right in [times, wanted_times]:
            assert bag(kept.join(right, "id", right_suffix="_2").to_table()) == bag(joined)
    keys = {"on": "ts", "by": "id", "tolerance": 0}
    joined = wanted.sort_by("ts").join_asof(wanted_times.sort_by("ts"), **keys)
    assert bag(dataset.sort_by("ts").join_asof(times.sort_by("ts"), **keys).to_table()) == bag(
        joined.to_table()
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda dataset: ds.InMemoryDataset(pa.table({"id": ["a"]})).join(dataset, "id"),
        lambda dataset: ds.dataset([dataset, dataset]).to_table(),
        lambda dataset: dataset.replace_schema(dataset.schema).to_table(),
        lambda dataset: dataset.join_asof(
            ds.InMemoryDataset(pa.table({"ts": [1], "id": ["a"]})), "ts", "id", 0
        ),
    ],
    ids=["join from the left", "union", "replace_schema", "join_asof"],
)
def test_code_of_pyarrow_that_reads_files_itself_says_what_to_give_it(table, use):
    with pytest.raises(UnsupportedQueryError, match=r"Give it rows: .* to_table\(\)"):
        use(table.dataset())


def test_mistakes_are_refused(table):
    with pytest.raises(pa.ArrowInvalid, match="nope"):
        table.dataset().scanner(columns=["nope"])
    with pytest.raises(TypeError, match="no argument 'filters'"):
        table.dataset().scanner(filters=FIELD("qty") > 1)
    with pytest.raises(UnsupportedQueryError, match="limit of 5 rows"):
        table.scan(limit=5).to_dataset()


class OpenedFiles(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Local files; notes which data files are opened, and how many bytes are read of them."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.bytes_read: dict[str, int] = {}
        self.reads = 0

    def _open(self, path: str, *arguments: Any, **named: Any) -> Any:
        self.reads += 1
        file = super()._open(path, *arguments, **named)
        if "/.hoodie/" not in path:
            read = file.f.read
            name = path.partition(f"{INDEXED}/")[2]
            self.bytes_read.setdefault(name, 0)

            def counted(size: int = -1) -> bytes:
                content: bytes = read(size)
                self.bytes_read[name] += len(content)
                return content

            file.read = counted
        return file


INDEXED = "v9_mor_mdt_indexes"


def file_groups(paths) -> set[str]:
    return {path.rpartition("/")[2].lstrip(".").partition("_")[0] for path in paths}


@pytest.fixture
def opened(golden_table):
    """A table of several partitions, and what is opened of it."""
    files = OpenedFiles()
    table = HudiTable(str(golden_table(INDEXED)), filesystem=files)
    assert table.scan().schema  # from the header of a log file of the last commit
    of_schema = set(files.bytes_read)
    return table, lambda: set(files.bytes_read) - of_schema


ASKED = {
    "duckdb": lambda table, column, value, **options: (
        table.scan(**options)
        .to_duckdb("t")
        .execute(f"SELECT id FROM t WHERE {column} = ?", [value])
        .fetchall()
    ),
    "polars": lambda table, column, value, **options: (
        hudi_pyspark.scan_polars(table, **options)
        .filter(pl.col(column) == value)
        .select("id")
        .collect()
        .rows()
    ),
    "pyarrow": lambda table, column, value, **options: (
        table.dataset(**options).to_table(columns=["id"], filter=FIELD(column) == value).to_pylist()
    ),
}


@pytest.mark.parametrize("engine", ASKED)
def test_engine_opens_the_files_of_one_partition(engine, opened):
    table, read = opened
    known = snapshot(INDEXED, table.schema).filter(FIELD("region") == "emea")
    assert len(ASKED[engine](table, "region", "emea")) == len(known) > 0
    assert {name.partition("/")[0] for name in read()} == {"emea"}


@pytest.mark.parametrize("engine", ASKED)
def test_engine_opens_the_file_slice_of_one_key(engine, opened):
    table, read = opened
    key = snapshot(INDEXED, table.schema)["_hoodie_record_key"][0].as_py()
    assert len(ASKED[engine](table, "_hoodie_record_key", key, unique_keys=True)) == 1
    assert len(file_groups(read())) == 1


def test_filters_of_one_frame_share_what_planning_reads(golden_table):
    files = OpenedFiles()
    dataset = HudiTable(str(golden_table(INDEXED)), filesystem=files).dataset()

    def reads(condition: pc.Expression) -> int:
        before = files.reads
        assert list(dataset.get_fragments(condition))
        return files.reads - before

    assert reads(FIELD("qty") > 0) > 0
    assert reads(FIELD("qty") < 10**6) == 0


@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_row_limit_opens_one_file_slice(engine, opened):
    table, read = opened
    frame = hudi_pyspark.scan_polars(table).head(2)
    assert len(frame.collect() if engine == "polars" else table.dataset().head(2)) == 2
    assert len(file_groups(read())) == 1


@pytest.mark.parametrize(("engine", "depth"), [("arrow", 1_000), ("polars", 600)])
def test_deep_condition_never_fails(engine, depth, golden_table):
    table = HudiTable(str(golden_table(MOR)))
    wanted = set()
    for row in snapshot(MOR, table.scan(["ts"]).schema).to_pylist():
        truth = row["ts"] > 5
        for number in range(depth):
            other = row["ts"] >= number % 7 if number % 2 else row["ts"] == number % 7
            truth = truth and other if number % 2 else truth or other
        wanted |= {row["ts"]} if truth else set()
    ts: Any = FIELD("ts") if engine == "arrow" else pl.col("ts")
    condition = ts > 5
    for number in range(depth):
        bound = number % 7
        condition = condition & (ts >= bound) if number % 2 else condition | (ts == bound)
    if engine == "arrow":
        found = table.dataset().to_table(columns=["ts"], filter=condition).column("ts").to_pylist()
    else:
        frame = hudi_pyspark.scan_polars(str(golden_table(MOR)))
        found = frame.filter(condition).collect().get_column("ts").to_list()
    assert set(found) == wanted
