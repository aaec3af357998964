"""Each index of the metadata table on tables that Apache Hudi wrote: what it leaves out, and when
it must not be used."""

import json
import math
import shutil
import zipfile
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.file_group import FileSlice
from tests.planning.indexed import answer_of_hudi, pruned

STATS = "x_v9_cow_ix_stats_base"
STATS_AND_LOGS = "x_v9_mor_ix_stats"
SECONDARY = "x_v9_cow_ix_secondary_base"
SECONDARY_AND_LOGS = "x_v9_mor_ix_secondary"


def ids(rows):
    return sorted(row["id"] for row in rows)


def found(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


@pytest.fixture
def open_case(golden_table):
    return lambda name: HudiTable(str(golden_table(name)))


@pytest.fixture
def copy_case(golden_table, tmp_path):
    return lambda name: shutil.copytree(golden_table(name), tmp_path / name)


@pytest.mark.parametrize("name", [STATS, STATS_AND_LOGS])
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("d IS NULL", lambda row: row["d"] is None),
        ("d IS NOT NULL", lambda row: row["d"] is not None),
        ("n < 0", lambda row: row["n"] is not None and row["n"] < 0),
        ("NOT (n > 100)", lambda row: row["n"] is not None and row["n"] <= 100),
        ("d IS NULL AND n >= 5000", lambda row: row["d"] is None and (row["n"] or 0) >= 5000),
    ],
)
def test_statistics_with_nulls_lose_no_row(name, text, holds, open_case):
    _, rows = answer_of_hudi(name)
    scan = open_case(name).scan(filter=text)
    assert "file slices by column statistics" in pruned(scan)
    assert found(scan) == ids(row for row in rows if holds(row))


def test_files_that_lack_a_column_are_kept_for_its_nulls(open_case):
    _, rows = answer_of_hudi("x_v9_cow_ix_added_column")
    scan = open_case("x_v9_cow_ix_added_column").scan(filter="more IS NULL")
    assert "file slices by column statistics" in pruned(scan)
    expected = [row for row in rows if row["more"] is None]
    assert len(expected) == 9
    assert found(scan) == ids(expected)


@pytest.mark.parametrize("name", [STATS, STATS_AND_LOGS])
def test_time_travel_asks_no_statistics(name, open_case):
    """The statistics are those of newer values: by them the row's slice would be left out."""
    options, rows = answer_of_hudi(name, "as_of_c1")
    wanted = [row for row in rows if row["n"] == 10]
    assert wanted
    scan = open_case(name).scan(**options, filter="n = 10")
    assert "file slices by" not in pruned(scan)
    assert found(scan) == ids(wanted)


@pytest.mark.parametrize("text", ["x = 5.5e0", "x > 5", "x <= 4.5", "x IN (5.5e0, 5.75e0)"])
def test_bounds_that_a_nan_keeps_out_of_the_footer_rule_out_nothing(open_case, text):
    _, rows = answer_of_hudi(STATS)
    keep = {
        "x = 5.5e0": lambda x: x == 5.5,
        "x > 5": lambda x: x > 5 or math.isnan(x),  # NaN is the greatest number
        "x <= 4.5": lambda x: x <= 4.5,
        "x IN (5.5e0, 5.75e0)": lambda x: x in (5.5, 5.75),
    }[text]
    expected = ids(row for row in rows if keep(row["x"]))
    assert expected
    assert found(open_case(STATS).scan(filter=text)) == expected


def test_bloom_filters_leave_out_base_files_by_record_key(open_case):
    for name in (STATS, "x_v9_cow_ix_dynamic_bloom"):
        scan = open_case(name).scan(filter="id = 'k010'", data_skipping="bloom_filters")
        assert " file slices by Bloom filters" in pruned(scan)
        assert len(scan.plan()) == 1
        assert found(scan) == ["k010"]


def with_other_texts(path):
    """Give the key field another text than the record keys have, in all base files."""
    for file in path.glob("*/*.parquet"):
        table = pq.read_table(file, partitioning=None)
        place = table.schema.get_field_index("id")
        texts = pc.binary_join_element_wise("of ", table.column("id"), "")
        changed = table.set_column(place, table.schema.field("id"), texts)
        pq.write_table(changed, file, store_schema=False)
    return HudiTable(str(path))


@pytest.mark.parametrize("index", ["bloom_filters", "record_index"])
def test_index_of_keys_is_not_asked_if_keys_have_other_texts_than_their_field(index, copy_case):
    name = STATS if index == "bloom_filters" else SECONDARY
    table = with_other_texts(copy_case(name))
    assert index in table.config.metadata_partitions
    options = {"data_skipping": index}
    if index == "record_index":
        options["trust_indexes"] = "record"
    scan = table.scan(filter="id = 'of k010'", **options)
    assert found(scan) == ["of k010"]
    by_key = table.scan(filter="_hoodie_record_key = 'k010'", **options)
    assert "file slices by" in pruned(by_key)
    assert found(by_key) == ["of k010"]


def test_bloom_filters_keep_slices_whose_log_files_may_have_the_key(open_case):
    scan = open_case(STATS_AND_LOGS).scan(filter="id = 'nobody'", data_skipping="bloom_filters")
    assert scan.plan()
    assert all(task.file_slice.log_files for task in scan.plan())


def test_bounds_are_those_of_the_slices_that_a_thread_asks_for(open_case):
    scan = open_case(STATS).scan()
    metadata = scan._query.planner.metadata()
    slices = list(scan._query.slices)

    class WhileAnotherThreadAsks(list[FileSlice]):
        def __ne__(self, other):
            metadata.bounds_of(slices[:1])
            return super().__ne__(other)

    metadata.bounds_of(slices)
    assert len(metadata.bounds_of(WhileAnotherThreadAsks(slices)).slices) == len(slices) > 1


@pytest.mark.parametrize("name", [SECONDARY_AND_LOGS, "x_v9_mor_ix_stats"])
def test_indexes_do_not_decide_before_the_merge(name, open_case):
    """The base row passes the filter, and a record of the log replaces it by one that does not."""
    base = answer_of_hudi(name, "read_optimized")[1]
    merged = answer_of_hudi(name)[1]
    before = {row["id"]: row["city"] for row in base}
    changed = [r for r in merged if r["id"] in before and before[r["id"]] != r["city"]]
    assert changed
    for row in changed:
        for city in {before[row["id"]], row["city"]} - {None}:
            literal = city.replace("\\", "\\\\")
            scan = open_case(name).scan(filter=f"city = '{literal}'")
            assert found(scan) == ids(r for r in merged if r["city"] == city)


@pytest.mark.parametrize("name", [STATS, SECONDARY])
def test_each_index_has_its_own_switch(name, open_case):
    table = open_case(name)
    by_index = {
        "column_stats": ("n = 5010", "file slices by column statistics"),
        "bloom_filters": ("id = 'k010'", "file slices by Bloom filters"),
        "record_index": ("id = 'k010'", "file slices by the record index"),
    }
    for name_of_index, (text, note) in by_index.items():
        is_there = name_of_index in table.config.metadata_partitions
        line = pruned(table.scan(filter=text, data_skipping=name_of_index, unique_keys=True))
        assert (note in line) is is_there
        assert note not in pruned(table.scan(filter=text, data_skipping=False))


@pytest.mark.parametrize("text", ["t < TIMESTAMP '2024-01-01 00:00:00+00:00'", "id = 'k010'"])
def test_expression_indexes_leave_nothing_out_unless_they_are_trusted(text, open_case):
    name = "x_v9_cow_ix_expression"
    _, rows = answer_of_hudi(name)
    table = open_case(name)
    assert sum(n.startswith("expr_index_") for n in table.config.metadata_partitions) == 3
    scan = table.scan(filter=text, data_skipping="column_stats,bloom_filters")
    assert "file slices by" not in pruned(scan)
    new_year = datetime(2024, 1, 1, tzinfo=timezone.utc)
    wanted = [r for r in rows if (r["id"] == "k010" if "id" in text else r["t"] < new_year)]
    assert wanted
    assert found(scan) == ids(wanted)


# Of an insert of a key that the table had, into another file group: filter, and Apache Hudi 1.2.0's
# values of `v` without data skipping. With it, it loses the first row of the key (D36).
REPEATED = {
    "id = 'k0'": [0, 100],
    "id IN ('k0', 'k1')": [0, 1, 100],
    "_hoodie_record_key = 'k0'": [0, 100],
    "v < 2": [0, 1],
}


@pytest.mark.parametrize("text", REPEATED)
@pytest.mark.parametrize("name", ["cow_same_partition", "mor_other_partition"])
def test_all_rows_of_a_key_that_an_insert_repeated_are_found(name, text, tmp_path):
    with zipfile.ZipFile(Path(__file__).with_name("repeated_keys") / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    table = HudiTable(str(tmp_path / name))
    for skipping in (True, "record_index", False):
        scan = table.scan(["v"], filter=text, data_skipping=skipping)
        assert sorted(scan.to_arrow()["v"].to_pylist()) == REPEATED[text]
        assert table.scan(filter=text, data_skipping=skipping).count() == len(REPEATED[text])


def test_index_costs_no_read_of_the_archive_and_of_no_commit(copy_case, monkeypatch):
    path = copy_case(STATS)
    add_archive(path, 1_000)
    key = found(HudiTable(str(path)).scan(data_skipping=False))[0]
    read: list[str] = []
    for method in ("read_bytes", "open_input"):
        original = getattr(ArrowStorage, method)

        def watched(self, path, original=original):
            read.append(self.describe(path))
            return original(self, path)

        monkeypatch.setattr(ArrowStorage, method, watched)

    def timeline_reads(folder, **options):
        read.clear()
        scan = HudiTable(str(path)).scan(**options)
        assert scan.plan()
        assert options == {} or "file slices by" in pruned(scan)
        return sorted(name for name in read if name.startswith(f"{path}/.hoodie/{folder}"))

    to_list = timeline_reads("timeline/")
    assert not any("/history/" in name for name in to_list)
    for text in (f"id = '{key}'", "n = 5010"):
        assert timeline_reads("timeline/", filter=text) == to_list
    assert timeline_reads("metadata/.hoodie/timeline/", filter="n = 5010") == []


def add_archive(path: Path, count: int) -> None:
    """Write instants that overlapped, before all others, into the LSM history of a table."""
    folder = path / ".hoodie/timeline/history"
    folder.mkdir(exist_ok=True)
    times = [f"20200101{n:06}000" for n in range(count)]
    columns = {
        "instantTime": times,
        "completionTime": ["20200102000000000"] * count,
        "action": ["commit"] * count,
        "metadata": pa.array([b'{"operationType": "BULK_INSERT"}'] * count, pa.binary()),
        "plan": pa.array([b""] * count, pa.binary()),
    }
    name = f"{times[0]}_{times[-1]}_1.parquet"
    pq.write_table(pa.table(columns), folder / name)
    (folder / "manifest_1").write_text(json.dumps({"files": [{"fileName": name, "fileLen": 1}]}))
    (folder / "_version_").write_text("1")
