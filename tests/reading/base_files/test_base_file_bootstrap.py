import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import (
    CorruptBaseFileError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.reading.base_files.base_file import read_bootstrap_file
from tests.memory_storage import MemoryStorage
from tests.reading.base_files.bootstrapped_table import (
    BOOTSTRAPPED,
    INSTANT,
    KEY,
    META,
    NEWER,
    PATH,
    bootstrapped,
    parquet,
    skeleton,
    source,
)
from tests.table.bootstrap_index import INDEX, bootstrap_index

SOURCE = "/data/source/p=1/part-0.parquet"
META += ["_hoodie_partition_path", "_hoodie_file_name"]


def orc_bytes(table: pa.Table) -> bytes:
    octets = io.BytesIO()
    orc.write_table(table, octets, stripe_size=65536, batch_size=64)
    return octets.getvalue()


def read(files, columns, *, path=PATH, source_path=SOURCE, batch_rows=10) -> list[pa.Table]:
    storage = MemoryStorage(files)
    return list(read_bootstrap_file(storage, path, source_path, columns, batch_rows))


def test_row_of_the_skeleton_stands_beside_the_same_row_of_the_source():
    files = {PATH: parquet(skeleton(3)), SOURCE: parquet(source(3))}
    (table,) = read(files, ["name", KEY, "new", "id"])
    assert table.to_pydict() == {
        KEY: ["rec0", "rec1", "rec2"],
        "name": ["n0", "n1", "n2"],
        "id": [0, 1, 2],
    }


@pytest.mark.parametrize(
    ("skeleton_group", "source_group", "batch_rows"),
    [(1000, 7, 1000), (7, 1000, 1000), (7, 11, 5), (1, 2, 3)],
)
def test_rows_stay_together_however_the_files_are_cut(skeleton_group, source_group, batch_rows):
    files = {
        PATH: parquet(skeleton(100), row_group_size=skeleton_group),
        SOURCE: parquet(source(100), row_group_size=source_group),
    }
    tables = read(files, [KEY, "id"], batch_rows=batch_rows)
    rows = pa.concat_tables(tables).to_pydict()
    assert rows == {KEY: [f"rec{i}" for i in range(100)], "id": list(range(100))}
    assert max(table.num_rows for table in tables) <= batch_rows


@pytest.mark.parametrize("columns", [[], ["new"], [KEY], ["id"]], ids=str)
def test_number_of_rows_is_told_whatever_the_columns(columns):
    files = {
        PATH: parquet(skeleton(10), row_group_size=4),
        SOURCE: parquet(source(10), row_group_size=3),
    }
    tables = read(files, columns, batch_rows=5)
    assert sum(table.num_rows for table in tables) == 10
    assert {tuple(t.schema.names) for t in tables} == {tuple(c for c in columns if c != "new")}


def test_skeleton_and_source_in_orc_are_read():
    path = PATH.replace("parquet", "orc")
    source_path = SOURCE.replace("parquet", "orc")
    files = {path: orc_bytes(skeleton(5000)), source_path: orc_bytes(source(5000))}
    tables = read(files, [KEY, "id"], path=path, source_path=source_path)
    rows = pa.concat_tables(tables).to_pydict()
    assert rows == {KEY: [f"rec{i}" for i in range(5000)], "id": list(range(5000))}


def test_meta_columns_of_a_source_that_was_a_hudi_table_do_not_count():
    table = source(1).append_column(KEY, pa.array(["other"]))
    (found,) = read({PATH: parquet(skeleton(1)), SOURCE: parquet(table)}, [KEY, "id"])
    assert found.to_pydict() == {KEY: ["rec0"], "id": [0]}


@pytest.mark.parametrize("columns", [[KEY, "id"], [KEY], ["id"], []], ids=str)
@pytest.mark.parametrize(
    ("skeleton_rows", "source_rows", "says"),
    [
        pytest.param(3, 4, "found 3, and more in the source", id="longer-source"),
        pytest.param(4, 3, "found more than the source's 3", id="shorter-source"),
        pytest.param(1, 0, "found more than the source's 0", id="empty-source"),
    ],
)
def test_files_of_unequal_length_are_refused(columns, skeleton_rows, source_rows, says):
    files = {PATH: parquet(skeleton(skeleton_rows)), SOURCE: parquet(source(source_rows))}
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: .*part-0.parquet has, {says}"):
        read(files, columns, batch_rows=2)


def test_missing_source_is_named():
    with pytest.raises(
        MissingFileError, match=r"part-0\.parquet has data columns .*bootstrap_base_path"
    ):
        read({PATH: parquet(skeleton(1))}, [KEY, "id"])


def test_damaged_source_is_named():
    files = {PATH: parquet(skeleton(1)), SOURCE: parquet(source(1))[:-5]}
    with pytest.raises(CorruptBaseFileError, match=r"part-0\.parquet: not readable as Parquet"):
        read(files, [KEY, "id"])


def rows_of(path: str, **options: Any) -> list[tuple[object, ...]]:
    table = HudiTable(path).scan([KEY, "id", "name", "p"], **options).to_arrow()
    return sorted(tuple(row.values()) for row in table.to_pylist())


ORDINARY = ("rec0", 7, "x", 2)


@pytest.mark.parametrize("query_type", ["snapshot", "read_optimized"])
def test_table_is_read_with_its_source_where_that_was_recorded(tmp_path, query_type):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    assert rows_of(path, query_type=query_type) == sorted([*BOOTSTRAPPED, ORDINARY])


def test_table_is_read_as_of_its_bootstrap(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    assert rows_of(path, as_of="20230601000000000") == BOOTSTRAPPED


def test_rows_are_counted_without_a_column(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    assert HudiTable(path).scan().count() == 4


def test_table_copied_with_its_source_is_read(tmp_path):
    path = bootstrapped(tmp_path, "/nowhere/source")
    assert rows_of(path) == sorted([*BOOTSTRAPPED, ORDINARY])


def test_source_is_read_where_the_option_says(tmp_path):
    path = bootstrapped(tmp_path, "/nowhere/other")
    with pytest.raises(MissingFileError, match=r"/nowhere/other has .*option bootstrap_base_path"):
        HudiTable(path).scan().plan()
    assert rows_of(path, bootstrap_base_path=f"{tmp_path}/source")[0] == BOOTSTRAPPED[0]


def missing_sources(path: str) -> dict[str, str]:
    findings = HudiTable(path).doctor()
    return {f.subject: f.message for f in findings if "bootstrap_base_path" in f.message}


def test_doctor_finds_sources_that_are_gone(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    assert missing_sources(path) == {}
    file = tmp_path / "source/p=1/part-0.parquet"
    file.rename(file.with_name("other"))
    (lost,) = missing_sources(path).items()
    assert lost[0] == PATH
    assert f"{file} has data columns" in lost[1]
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    (lost,) = missing_sources(path).items()
    assert lost[0] == "hoodie.bootstrap.base.path"
    assert f"{tmp_path}/source has data columns" in lost[1]


def test_file_rewritten_since_the_bootstrap_needs_neither_index_nor_source(tmp_path):
    path = bootstrapped(tmp_path, "/nowhere/other", newer=PATH.replace(INSTANT, NEWER))
    (tmp_path / "table" / INDEX).unlink()
    # The folder is p=1, and it counts more than what the file holds.
    assert rows_of(path) == [(*ORDINARY[:3], 1)]
    with pytest.raises(MissingFileError, match=r"Restore the folder \.hoodie/\.aux"):
        rows_of(path, as_of="20230601000000000")


def test_disabled_index_is_refused_at_plan_time(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source", bootstrap__index__enable="false")
    with pytest.raises(UnsupportedTableError, match=r"index\.enable is false"):
        HudiTable(path).scan().plan()


def test_source_in_an_unknown_format_is_refused_at_plan_time(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    index = bootstrap_index({("p=1", "f1"): f"file:{tmp_path}/source/p=1/000000_0"})
    (tmp_path / "table" / INDEX).write_bytes(index)
    with pytest.raises(UnsupportedTableError, match="000000_0 has the extension ''"):
        HudiTable(path).scan().plan()
