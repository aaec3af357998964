"""The public surface without Spark: a table, its scans, and what importing them brings in."""

import io
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import (
    HudiTable,
    InvalidInstantError,
    InvalidOptionError,
    MissingFileError,
    UnknownQueryTypeError,
    UnsupportedQueryError,
)
from hudi_pyspark.extras import PACKAGES
from hudi_pyspark.filter.sql_text import parse_filter
from tests.conftest import GOLDEN, PROJECT
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.table.tiny_table import TinyTable, base

MOR = "v9_mor_compaction_inline"
ALL_TYPES = "v9_mor_all_types"
C1 = "20261121062657910"


@pytest.fixture
def path(golden_table):
    return str(golden_table(MOR))


@pytest.fixture
def table(path):
    return HudiTable(path)


def differs_from(answer: pa.Table, query: str, case: str = MOR) -> list[str]:
    """Differences from Apache Hudi's answer to a golden query."""
    known = next(q for q in load_case(GOLDEN / case).queries if q.name == query)
    return differences(answer, known.expected_rows(), known.expected_schema())


def expected(query: str = "snapshot", case: str = MOR) -> pa.Table:
    return next(q for q in load_case(GOLDEN / case).queries if q.name == query).expected_rows()


def test_to_arrow_is_the_whole_answer(table):
    assert differs_from(table.scan().to_arrow(), "snapshot") == []


def test_batches_stream_the_same_answer(table):
    scan = table.scan(batch_rows=2)
    batches = list(scan.to_batches())
    assert max(batch.num_rows for batch in batches) <= 2
    assert len(batches) > 9
    assert differs_from(pa.Table.from_batches(batches, scan.schema), "snapshot") == []


def test_scan_can_be_read_again(table):
    scan = table.scan()
    assert scan.count() == 18
    for _ in range(2):
        assert differs_from(scan.to_arrow(), "snapshot") == []


def test_to_pandas_has_the_rows(table):
    frame = table.scan(["id", "amount"]).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    known = expected().select(["id", "amount"]).to_pandas()
    pd.testing.assert_frame_equal(
        frame.sort_values("id", ignore_index=True), known.sort_values("id", ignore_index=True)
    )


def test_to_polars_has_the_rows(table):
    polars = pytest.importorskip("polars")
    frame = table.scan(["id", "amount"]).to_polars()
    assert isinstance(frame, polars.DataFrame)
    known = expected().select(["id", "amount"]).to_pylist()
    assert sorted(frame.to_dicts(), key=str) == sorted(known, key=str)


def test_batch_reader_has_the_name_of_pyiceberg_and_the_schema_up_front(table):
    reader = table.scan(["id", "ts"]).to_batches()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.names == ["id", "ts"]
    assert reader.read_all().num_rows == 18


def test_error_while_batches_stream_keeps_its_class(tmp_path):
    with zipfile.ZipFile(GOLDEN / MOR / "table.zip") as archive:
        archive.extractall(tmp_path)
    reader = HudiTable(str(tmp_path / MOR)).scan().to_batches()
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    # The metadata table, from which the files are known, still has them.
    with pytest.raises(MissingFileError, match=r"is not on the storage\. Restore it from a copy"):
        reader.read_all()


def test_to_pandas_takes_the_options_of_pyarrow(table):
    frame = table.scan(["qty"]).to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)
    assert frame["qty"].dtype == pd.Int32Dtype()


def test_to_duckdb_registers_the_rows(table):
    duckdb = pytest.importorskip("duckdb")
    mine = duckdb.connect()
    assert table.scan(["id", "amount"]).to_duckdb("orders", connection=mine) is mine
    known = expected().select(["id", "amount"]).to_pylist()
    found = mine.sql("SELECT id, amount FROM orders ORDER BY id").fetchall()
    assert found == sorted((row["id"], row["amount"]) for row in known)
    alone = table.scan(["id"]).to_duckdb("t")
    assert alone.sql("SELECT count(*) FROM t").fetchall() == [(18,)]


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (1, 1), (7, 7), (18, 18), (100, 18)])
def test_limit_cuts_the_answer(table, limit, rows):
    scan = table.scan(limit=limit, batch_rows=4)
    assert scan.count() == rows
    assert scan.to_arrow().num_rows == rows
    assert scan.to_arrow().schema == table.schema
    all_rows = {str(row) for row in table.scan().to_arrow().to_pylist()}
    assert {str(row) for row in scan.to_arrow().to_pylist()} <= all_rows


def test_nothing_is_read_past_the_limit(tmp_path):
    with zipfile.ZipFile(GOLDEN / MOR / "table.zip") as archive:
        archive.extractall(tmp_path)
    scan = HudiTable(str(tmp_path / MOR)).scan(limit=1)
    assert len(scan.plan()) == 5
    for file in tmp_path.rglob("*.parquet"):
        if file.parent.name != "amer":  # the partition that is read first
            file.unlink()
    assert scan.to_arrow().num_rows == 1
    assert scan.count() == 1


def test_scan_narrowed_by_a_predicate_is_not_handed_to_spark_without_it(table):
    schema = table.schema
    narrowed = table.scan()._where(parse_filter("region = 'emea'", schema))
    with pytest.raises(UnsupportedQueryError, match="filter that is not text"):
        narrowed.to_spark(None)


def test_arguments_take_precedence_over_read_options_of_the_environment(table, monkeypatch):
    monkeypatch.setenv("HOODIE_ENV_hoodie_DOT_datasource_DOT_query_DOT_type", "read_optimized")
    assert table.scan().count() == expected("read_optimized").num_rows
    assert table.scan(query_type="snapshot").count() == 18


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        pytest.param({}, "snapshot", id="snapshot"),
        pytest.param({"query_type": "read_optimized"}, "read_optimized", id="read-optimized"),
        pytest.param({"as_of": C1}, "as_of_c1", id="as-of-digits"),
        pytest.param({"as_of": "2026-11-21 06:27:00.103"}, "as_of_c2_formatted", id="as-of-text"),
        pytest.param({"as_of": "2026-11-21T06:27:00.103"}, "as_of_c2_formatted", id="as-of-iso"),
        pytest.param({"as_of": "2020-01-01"}, "as_of_before_all", id="as-of-before-all"),
        pytest.param({"use_record_positions": False}, "snapshot", id="by-keys"),
        pytest.param({"batch_rows": 1}, "snapshot", id="row-by-row"),
    ],
)
def test_scan_takes_its_options_as_arguments(table, arguments, query):
    scan = table.scan(**arguments)
    known = expected(query)
    assert scan.count() == known.num_rows
    assert differs_from(scan.to_arrow(), query) == []


def test_scan_takes_hudis_own_keys(table):
    scan = table.scan(**{"Hoodie.Datasource.Query.Type": "SNAPSHOT", "as.of.instant": C1})
    assert differs_from(scan.to_arrow(), "as_of_c1") == []


def test_columns_come_in_the_order_asked_for(table):
    answer = table.scan(["ts", "_hoodie_record_key", "id"]).to_arrow()
    names = ["ts", "_hoodie_record_key", "id"]
    assert answer.schema.names == names
    known = expected().select(names)
    assert sorted(map(str, answer.to_pylist())) == sorted(map(str, known.to_pylist()))


def test_column_with_a_comma_in_its_name_is_read(tmp_path):
    tiny = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", base("f", "010"))
    octets = io.BytesIO()
    pq.write_table(pa.table({"_hoodie_record_key": ["k"], "a,b": [1], "a": [2]}), octets)
    tiny.files[base("f", "010")] = octets.getvalue()
    for path, content in tiny.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    scan = HudiTable(str(tmp_path)).scan(["a,b"])
    assert scan.to_arrow().to_pylist() == [{"a,b": 1}]
    with pytest.raises(UnsupportedQueryError, match="the column name 'a,b'"):
        scan.to_spark(None)  # type: ignore[arg-type]  # it is refused before Spark is asked


def test_meta_columns_can_be_left_out(table):
    answer = table.scan(include_meta_columns=False).to_arrow()
    assert answer.schema.names == ["id", "name", "amount", "qty", "ts", "region"]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        pytest.param({"limit": -1}, InvalidOptionError, "limit is -1", id="limit"),
        pytest.param({"columns": ["nope"]}, InvalidOptionError, "no column 'nope'", id="column"),
        pytest.param({"columns": []}, InvalidOptionError, "at least one column", id="no-column"),
        pytest.param({"columns": ["id", "id"]}, InvalidOptionError, "each once", id="twice"),
        pytest.param(
            {"as_of": "soon"}, InvalidInstantError, "'soon' is not an instant", id="as-of"
        ),
        pytest.param({"query_type": "x"}, UnknownQueryTypeError, "is 'x'", id="query-type"),
        pytest.param(
            {"begin": "earliest", "query_type": "snapshot"},
            InvalidOptionError,
            "needs the query type incremental",
            id="range",
        ),
        pytest.param({"batch_rows": 0}, InvalidOptionError, "whole number from 1", id="batch-rows"),
        pytest.param({"batch_row": 5}, InvalidOptionError, "mean batch_rows", id="unknown"),
        pytest.param({"on_damage": "hide"}, InvalidOptionError, "fail, warn, ignore", id="damage"),
    ],
)
def test_scan_refuses_wrong_arguments_before_reading(table, arguments, error, says):
    with pytest.raises(error, match=says):
        table.scan(**arguments)


def test_schema_of_table_and_scan(golden_table):
    table = HudiTable(str(golden_table(ALL_TYPES)))
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["c_bigdec"] == pa.decimal128(38, 10)
    assert kinds["c_ts"] == pa.timestamp("us", "UTC")
    assert kinds["c_arr_arr"] == pa.list_(pa.list_(pa.string()))
    assert table.schema.names == expected(case=ALL_TYPES).schema.names
    assert table.scan().schema == table.schema
    some = table.scan(["part", "id"]).schema
    assert some == pa.schema([("part", pa.string()), ("id", pa.int32())])


def test_scan_as_of_an_instant_has_the_schema_of_that_time(golden_table):
    case = "v9_mor_schema_evolution"
    table = HudiTable(str(golden_table(case)))
    then = table.scan(as_of="20261121063042187")
    known = next(q for q in load_case(GOLDEN / case).queries if q.name == "as_of_c1")
    assert then.schema.names == [field["name"] for field in known.expected_schema()]
    assert set(then.schema.names) < set(table.schema.names)


def test_every_batch_has_the_schema_of_the_scan(golden_table):
    scan = HudiTable(str(golden_table("v9_mor_schema_evolution"))).scan()
    assert {batch.schema == scan.schema for batch in scan.to_batches()} == {True}


def test_last_instant_is_the_newest_completed_commit(table):
    assert table.last_instant == "20261121062710569"


def test_config_has_the_properties(table):
    assert (table.config.version, table.config.is_merge_on_read) == (9, True)


def test_repr_of_a_scan_tells_what_it_reads(path, table):
    assert repr(table.scan(as_of=C1)) == f"Scan(snapshot of {path} as of {C1})"


def test_empty_table_has_a_schema_and_no_rows(golden_table):
    table = HudiTable(str(golden_table("v9_mor_empty_table")))
    assert table.last_instant == ""
    assert table.scan().count() == 0
    answer = table.scan().to_arrow()
    assert (answer.num_rows, answer.schema) == (0, table.schema)


@pytest.mark.parametrize("prefix", ["", "file://", "file:"], ids=["path", "uri", "hadoop-uri"])
def test_path_may_be_a_uri_or_end_in_a_slash(path, prefix):
    assert HudiTable(f"{prefix}{path}/").scan().count() == 18


def test_path_may_be_an_object(path):
    assert HudiTable(Path(path)).scan().count() == 18


def test_path_may_be_relative(path, monkeypatch):
    monkeypatch.chdir(Path(path).parent)
    assert HudiTable(MOR).scan().count() == 18


def test_path_with_spaces_and_percent_signs_is_taken_literally(tmp_path):
    folder = tmp_path / "a b%20c#d"
    folder.mkdir()
    with zipfile.ZipFile(GOLDEN / MOR / "table.zip") as archive:
        archive.extractall(folder)
    assert HudiTable(str(folder / MOR)).scan().count() == 18


def test_opening_a_table_lists_no_partition(tmp_path):
    with zipfile.ZipFile(GOLDEN / MOR / "table.zip") as archive:
        archive.extractall(tmp_path)
    for folder in (tmp_path / MOR).iterdir():
        if folder.name != ".hoodie":
            folder.rename(tmp_path / folder.name)  # gone, as far as the table is concerned
    assert HudiTable(str(tmp_path / MOR)).last_instant == "20261121062710569"


def test_plan_has_one_small_task_per_file_slice(table):
    tasks = table.scan().plan()
    partitions = [task.file_slice.partition_path for task in tasks]
    assert partitions == ["amer", "amer", "apac", "emea", "emea"]
    assert max(len(pickle.dumps(task)) for task in tasks) < 5_000


# What importing brings in, seen from a fresh interpreter.


def python(code: str, *, pythonpath: Path = PROJECT, cwd: Path | None = None) -> str:
    """Run code in a fresh interpreter; returns what it prints."""
    prelude = f"import sys; sys.path.insert(0, {str(pythonpath)!r})\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", prelude + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


READ = "from hudi_pyspark import HudiTable; print(HudiTable({path!r}).scan().to_arrow().num_rows)"
# What is not installed: pyarrow itself takes pandas where it finds it, so it must not be found.
BLOCK = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "polars", "pyspark", "py4j", "grpc"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""


def test_importing_the_package_imports_no_pyspark_pandas_or_polars():
    code = "import hudi_pyspark; print({'pyspark', 'pandas', 'polars'} & {*sys.modules})"
    assert python(code) == "set()"


@pytest.mark.parametrize(
    ("library", "extra", "read"),
    [
        ("pandas", "pandas", "table.scan().to_pandas()"),
        ("polars", "polars", "table.scan().to_polars()"),
        ("polars", "polars", "hudi_pyspark.scan_polars(table)"),
        ("duckdb", "duckdb", "table.to_duckdb('t')"),
        ("jinja2", "report", "table.report().to_html()"),
        ("pyspark", "spark", "hudi_pyspark.register"),
        ("pyspark", "spark", "from hudi_pyspark import read"),
        ("pyspark", "spark", "hudi_pyspark.storage_options_from_spark"),
    ],
)
def test_a_library_that_is_missing_is_named_with_what_installs_it(path, library, extra, read):
    blocked = BLOCK.replace('"grpc"', '"grpc", "duckdb", "jinja2"')
    code = f"""
{blocked}
import hudi_pyspark
table = hudi_pyspark.HudiTable({path!r})
try:
    {read}
except ImportError as error:
    print(error)
"""
    said = python(code)
    wanted = PACKAGES[extra]
    assert wanted.startswith(library)
    assert said == f"{library} is not installed: pip install '{wanted}' (extra '{extra}')"


def test_help_and_completion_need_no_pyspark():
    code = """
import inspect, pydoc, sys
sys.modules["pyspark"] = None
import hudi_pyspark
names = [name for name, _ in inspect.getmembers(hudi_pyspark)]
assert names == dir(hudi_pyspark)
text = pydoc.plain(pydoc.render_doc(hudi_pyspark))
print("class HudiTable" in text, "HudiTable" in names, "read" in names)
"""
    assert python(code) == "True True False"


def test_advice_names_the_packages_of_the_extras():
    project = (PROJECT / "pyproject.toml").read_text("utf-8")
    for extra, package in PACKAGES.items():
        assert f'\n{extra} = ["{package}"]' in project


def test_no_advice_installs_this_package_by_its_name():
    texts = [*PROJECT.glob("hudi_pyspark/**/*.py"), *PROJECT.glob(".github/**/*.yml")]
    assert [f.name for f in texts if re.search(r"pip install '?hudi", f.read_text("utf-8"))] == []


def test_nothing_but_pyarrow_numpy_and_fastavro_is_needed(path):
    code = f"""
import sys

class OnlyThese:
    def find_spec(self, name, path=None, target=None):
        known = {{"hudi_pyspark", "pyarrow", "numpy", "fastavro", *sys.stdlib_module_names}}
        if name.split(".")[0] not in known and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, OnlyThese())
{READ.format(path=path)}
"""
    assert python(code) == "18"


def test_tables_are_read_where_pandas_polars_and_pyspark_are_missing(golden_table):
    cases = (MOR, ALL_TYPES, "v9_mor_logblock_hfile", "v9_mor_logblock_parquet", "v6_cow_archived")
    paths = [str(golden_table(case)) for case in cases]
    rows = [HudiTable(path).scan().count() for path in paths]
    assert min(rows) > 0
    reads = "\n".join(READ.format(path=path) for path in paths)
    assert python(BLOCK + reads).split() == [str(count) for count in rows]


def test_table_is_read_by_the_package_inside_a_zip(spark_zip, path, tmp_path):
    code = READ.format(path=path) + "; import hudi_pyspark; print(hudi_pyspark.__file__)"
    rows, place = python(code, pythonpath=spark_zip, cwd=tmp_path).splitlines()
    assert rows == "18"
    assert place.startswith(str(spark_zip))


def test_every_module_of_the_zip_is_imported_without_those_that_it_leaves_out(spark_zip, tmp_path):
    with zipfile.ZipFile(spark_zip) as archive:
        files = [Path(name) for name in archive.namelist() if name.startswith("hudi_pyspark/")]
    modules = [
        ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        for file in files
        if file.suffix == ".py" and file.parts[1] != "spark"
    ]
    assert "hudi_pyspark.inspection.inspection" in modules
    assert not {"cli", "doctor", "frames"} & {file.parts[1] for file in files}
    code = (
        f"{BLOCK}\nfrom importlib import import_module as im\nprint(len([*map(im, {modules!r})]))"
    )
    assert python(code, pythonpath=spark_zip, cwd=tmp_path) == str(len(modules))


def test_tool_that_the_zip_lacks_says_what_to_install(spark_zip, path, tmp_path):
    calls = ("doctor()", "report()", "dataset()")
    code = f"from hudi_pyspark import HudiTable; table = HudiTable({path!r}); print(table)\n"
    code += "\n".join(
        f"try: table.{call}\nexcept ImportError as error: print('error', error)" for call in calls
    )
    found = python(code, pythonpath=spark_zip, cwd=tmp_path)
    assert found.startswith("HudiTable ")
    says = "is not in the zip for Spark: install the wheel of hudi-pyspark"
    errors = [line for line in found.splitlines() if line.startswith("error ")]
    assert [line.endswith(says) for line in errors] == [True] * len(calls)


@pytest.mark.parametrize("limit", ["3", 1.5, -1])
def test_limit_that_is_not_a_number_of_rows_is_refused(table, limit):
    with pytest.raises(InvalidOptionError, match=f"limit is {limit!r}; give a number of rows"):
        table.scan(limit=limit)
