"""File groups of an index that are lost, while no commit is left that names them.

Rows by key are those that Apache Hudi reads, or that the writer of the table wrote.
"""

import logging
import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.metadata_table.shards import shards_of
from hudi_pyspark.table.file_group import FileSlice
from tests.metadata_table.indexed import EXTRA, answer_of_hudi, pruned
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


def forget_commits(path, kept):
    """Remove all but the newest commits from the metadata table's timeline, as archiving does."""
    timeline = path / ".hoodie/metadata/.hoodie/timeline"
    instants = [file for file in timeline.iterdir() if file.is_file() and file.suffix != ".crc"]
    completed = {re.split(r"[._]", f.name)[0] for f in instants if "_" in f.name}
    newest = sorted(completed)[-kept:]
    for file in instants:
        if file.name[:17] not in newest:
            file.unlink()


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
    found = table.lookup([*keys, "nobody"]).to_pylist()
    values = {row["_hoodie_record_key"]: row[column] for row in found}
    assert len(found) == len(values)
    for key in [*sorted(keys)[::4], "nobody"]:
        alone = table.lookup(key, [column]).to_pylist()
        assert alone == [{column: values[key]} for _ in range(key in values)]
    return values


@pytest.mark.parametrize("kept", [1, 99])
@SAMPLED
def test_lost_file_group_of_the_record_index_loses_no_row(
    indexed, tmp_path, kept, is_whole, caplog
):
    path, rows = indexed
    forget_commits(path, kept)
    expected = {key: row["_hoodie_commit_time"] for key, row in rows.items()}
    groups = groups_of(path)
    assert len(groups) > 1
    for name in groups if is_whole else sample(groups, f"{path.name} {kept}", 4):
        files = groups[name]
        caplog.clear()
        aside = tmp_path / "aside"
        aside.mkdir()
        for file in files:
            shutil.move(file, aside)
        with caplog.at_level(logging.WARNING):
            assert values_by_key(path, expected, "_hoodie_commit_time") == expected, name
        assert "an index of the metadata table is not used" in caplog.text, name
        for file in files:
            shutil.move(aside / file.name, file)
        aside.rmdir()
    assert values_by_key(path, expected, "_hoodie_commit_time") == expected


@pytest.mark.parametrize("kept", [1, 99])
def test_whole_record_index_is_used_though_its_commits_are_archived(indexed, kept, caplog):
    path, rows = indexed
    forget_commits(path, kept)
    table = HudiTable(str(path))
    for key in (*rows, "nobody"):
        scan = table.scan(filter=f"_hoodie_record_key = '{key}'")
        if len(table.view.slices.as_of()) > 1:
            assert "by the record index" in pruned(scan)
    assert not caplog.records


def test_lost_base_file_of_the_record_index_loses_no_row(tmp_path, caplog):
    """The group has logs of later commits, which know few of its keys."""
    name = "x_v8_mor_ix_secondary"
    path = unpacked(EXTRA / name / "table.zip", tmp_path)
    _, rows = answer_of_hudi(name)
    forget_commits(path, 1)
    for base in (path / ".hoodie/metadata/record_index").glob("record-index-*.hfile"):
        base.unlink()
    for log in (path / ".hoodie/metadata/record_index").glob(".*_0000*.log.1_0-0-0"):
        log.unlink()
    expected = {row["_hoodie_record_key"]: row["id"] for row in rows}
    assert values_by_key(path, expected, "id") == expected
    assert "has neither a base file below it nor" in caplog.text


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
        scan = table.scan(filter=f"_hoodie_record_key = 'k{number:03}'")
        assert "2 of 3 file slices by the record index" in pruned(scan)
    assert "3 of 3 file slices" in pruned(table.scan(filter="_hoodie_record_key = 'nobody'"))
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


def group(file_id: str, keys: list[str], storage: object = None) -> Any:
    """A file group with some keys, all of which are read."""
    stored = [pa.array(keys, pa.string())]
    return SimpleNamespace(
        file_slice=FileSlice("record_index", file_id, "", None, ()),
        storage=storage,
        find=lambda _, seen: seen.extend(stored),
        some_keys=lambda: stored,
    )


def java_hash(text):
    """`String.hashCode` for characters of one UTF-16 unit, then Hudi's `abs(abs(h) % count)`."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    return code - (1 << 32) if code >> 31 else code


@pytest.mark.parametrize("count", [1, 2, 3, 10, 97])
@pytest.mark.parametrize("spelling", ["id{}", "{:08}", "2024-01-01-{}-käse"])
@SAMPLED
def test_keys_prove_the_number_of_file_groups(count, spelling, is_whole):
    keys = [spelling.format(i) for i in range(40 * count)]
    groups = [
        group(
            f"record-index-{number:04}-0", [k for k in keys if abs(java_hash(k)) % count == number]
        )
        for number in range(count)
    ]
    (whole,) = shards_of(groups).values()
    assert whole.are_complete()
    for lost in range(1, count) if is_whole else sample(range(1, count), spelling, 8):
        (rest,) = shards_of(groups[:-lost]).values()
        assert not rest.are_complete()
        list(rest.find(keys))
        assert not rest.are_complete()
    (without_keys,) = shards_of([group("record-index-0000-0", [])]).values()
    assert not without_keys.are_complete()


def test_missing_number_is_named():
    storage = SimpleNamespace(describe=lambda path: f"s3://lake/t/{path}")
    groups = [group(f"record-index-us-{number:04}-0", [], storage) for number in (0, 2)]
    with pytest.raises(MissingFileError, match="no file group record-index-us-0001-0"):
        shards_of(groups)
