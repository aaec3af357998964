"""File groups of an index that are lost, while no commit is left that names them.

Rows by key are those that Apache Hudi reads, or that the writer of the table wrote.
"""

import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.metadata_table.slices import shards_of
from hudi_pyspark.table.file_group import FileSlice
from tests.archiver import archive_in
from tests.planning.indexed import EXTRA, answer_of_hudi, pruned
from tests.sampling import SAMPLED, sample

# Of Apache Hudi 1.2.0: two commits, and a third one that was interrupted. The first wrote the keys
# k000 to k059 into three partitions, the second every third of them again.
PARTITIONED = Path(__file__).with_name("partitioned_record_index") / "table.zip"
WRITTEN = {f"k{i:03}": f"v{i}-{1 if i % 3 else 2}" for i in range(60)}
NAMES = [
    "x_v9_cow_ix_stats_base",
    "x_v8_mor_ix_secondary",
    "x_v9_mor_ix_stats",
    "x_v9_mor_pv_stays_record",
]
METADATA = ".hoodie/metadata/"
_GROUP = re.compile(r"^\.?(record-index-.*[0-9]{4}-0)_")


def unpacked(archive, folder):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return next(folder.iterdir())


@pytest.fixture(params=NAMES)
def indexed(request, tmp_path):
    """Return a table, and the rows of Apache Hudi by their keys."""
    path = unpacked(EXTRA / request.param / "table.zip", tmp_path)
    _, rows = answer_of_hudi(request.param)
    return path, {row["_hoodie_record_key"]: row for row in rows}


def forget_commits(path, kept, *, keeps_archive=True):
    """Archive all but the newest commits of the metadata table; maybe remove its archive."""
    archive_in(path, kept, METADATA)
    if not keeps_archive:
        shutil.rmtree(path / METADATA / ".hoodie/timeline/history")


def groups_of(path):
    """Return the files of the record index by their file groups."""
    groups: dict[str, list[Path]] = {}
    for file in (path / ".hoodie/metadata/record_index").iterdir():
        if match := _GROUP.search(file.name):
            groups.setdefault(match[1], []).append(file)
    return dict(sorted(groups.items()))


def values_by_key(path, keys, column):
    """Look keys up together, some of them alone, and one that no record has; return the values."""
    table = HudiTable(str(path))
    found = table.lookup([*keys, "nobody"], unique_keys=True).to_pylist()
    values = {row["_hoodie_record_key"]: row[column] for row in found}
    assert len(found) == len(values)
    for key in [*sorted(keys)[::4], "nobody"]:
        alone = table.lookup(key, [column], unique_keys=True).to_pylist()
        assert alone == [{column: values[key]} for _ in range(key in values)]
        text = f"_hoodie_record_key = '{key}'"
        trusting = table.scan([column], filter=text, trust_indexes="record").to_arrow()
        assert trusting.to_pylist() == alone, key
    return values


@pytest.mark.parametrize("kept", [1, 99])
@SAMPLED
def test_lost_file_group_of_the_record_index_loses_no_row(indexed, tmp_path, kept, is_whole):
    path, rows = indexed
    forget_commits(path, kept)
    expected = {key: row["_hoodie_commit_time"] for key, row in rows.items()}
    groups = groups_of(path)
    assert len(groups) > 1
    for name in groups if is_whole else sample(groups, f"{path.name} {kept}", 4):
        files = groups[name]
        aside = tmp_path / "aside"
        aside.mkdir()
        for file in files:
            shutil.move(file, aside)
        assert values_by_key(path, expected, "_hoodie_commit_time") == expected, name
        for file in files:
            shutil.move(aside / file.name, file)
        aside.rmdir()
    assert values_by_key(path, expected, "_hoodie_commit_time") == expected


@pytest.mark.parametrize("kept", [1, 99])
def test_whole_record_index_is_used_though_its_commits_are_archived(indexed, kept, caplog):
    path, rows = indexed
    forget_commits(path, kept)
    table = HudiTable(str(path))
    for key in rows:
        scan = table.scan(filter=f"_hoodie_record_key = '{key}'", unique_keys=True)
        if len(table._view.slices.as_of()) > 1:
            assert "by the record index" in pruned(scan)
    assert not caplog.records


@pytest.mark.parametrize(
    ("keeps_archive", "reason"),
    [(True, "was committed"), (False, "neither its timeline nor its archive has")],
    ids=["archived", "archive gone"],
)
def test_lost_base_file_of_the_record_index_loses_no_row(tmp_path, caplog, keeps_archive, reason):
    """The group has logs of later commits, which know few of its keys."""
    name = "x_v8_mor_ix_secondary"
    path = unpacked(EXTRA / name / "table.zip", tmp_path)
    _, rows = answer_of_hudi(name)
    forget_commits(path, 1, keeps_archive=keeps_archive)
    for base in (path / ".hoodie/metadata/record_index").glob("record-index-*.hfile"):
        base.unlink()
    for log in (path / ".hoodie/metadata/record_index").glob(".*_0000*.log.1_0-0-0"):
        log.unlink()
    expected = {row["_hoodie_record_key"]: row["id"] for row in rows}
    assert values_by_key(path, expected, "id") == expected
    assert reason in caplog.text


def test_base_file_of_another_state_loses_no_row(golden_table, tmp_path, caplog):
    """It is an HFile of a record index, but not the one that the commit wrote."""
    path = shutil.copytree(golden_table("v9_mor_mdt_indexes"), tmp_path / "table")
    other = golden_table("v10_mor_mdt_indexes") / ".hoodie/metadata/record_index"
    (base,) = (path / ".hoodie/metadata/record_index").glob("record-index-*.hfile")
    (from_another,) = (
        f
        for f in other.glob("record-index-*.hfile")
        if ".log." not in f.name and ".deletes." not in f.name
    )
    rows = HudiTable(str(path)).scan(use_metadata_table=False).to_arrow().to_pylist()
    base.write_bytes(from_another.read_bytes())
    expected = {row["_hoodie_record_key"]: row["_hoodie_commit_time"] for row in rows}
    assert values_by_key(path, expected, "_hoodie_commit_time") == expected
    assert "bytes, but its commit says" in caplog.text


def test_partitioned_record_index_is_used_by_partition(tmp_path, caplog):
    path = unpacked(PARTITIONED, tmp_path)
    assert values_by_key(path, WRITTEN, "v") == WRITTEN
    table = HudiTable(str(path))
    for number in range(6):
        scan = table.scan(filter=f"_hoodie_record_key = 'k{number:03}'", unique_keys=True)
        assert "2 of 3 file slices by the record index" in pruned(scan)
    assert not caplog.records


@pytest.mark.parametrize("kept", [1, 99])
@SAMPLED
def test_lost_file_group_of_a_partitioned_record_index_loses_no_row(tmp_path, kept, is_whole):
    path = unpacked(PARTITIONED, tmp_path)
    forget_commits(path, kept)
    groups = groups_of(path)
    partitions = ("2024%2D01%2D01", "2024%2D01%2D02", "us")
    names = [f"record-index-{partition}-" for partition in partitions]
    lost = [[g for g in groups if g.startswith(name)] for name in names]
    lost += [[name] for of_partition in lost for name in of_partition]
    assert len(lost) == 9
    # One partition of three, and two of the six file groups.
    for several in lost if is_whole else sample(lost, f"partitioned {kept}", 3):
        kept_content = {file: file.read_bytes() for g in several for file in groups[g]}
        for file in kept_content:
            file.unlink()
        assert values_by_key(path, WRITTEN, "v") == WRITTEN, several
        for file, content in kept_content.items():
            file.write_bytes(content)


def test_missing_number_is_named():
    storage = SimpleNamespace(describe=lambda path: f"s3://lake/t/{path}")
    slices = [FileSlice("record_index", f"record-index-us-{n:04}-0", "", None, ()) for n in (0, 2)]
    groups: Any = [SimpleNamespace(file_slice=each, storage=storage) for each in slices]
    with pytest.raises(MissingFileError, match="no file group record-index-us-0001-0"):
        shards_of(groups)
