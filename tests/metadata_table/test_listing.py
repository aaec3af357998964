"""Files from the metadata table, beside those in the folders: the same slices, or a fallback."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_pyspark import (
    CorruptTableError,
    CorruptTimelineError,
    HudiTable,
    MissingFileError,
    thresholds,
)
from hudi_pyspark.inspection.metadata import listed_files
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.recorded_commits import RecordedCommits
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.tasks import ScanTask
from tests.conftest import GOLDEN
from tests.golden.case import load_cases

INDEXED = "v9_mor_mdt_indexes"
KEYS_ARE_ROWS = "hudi_upgrade_hudi_v9_table"  # its HFiles lack what HBase adds to a key
LISTED = [
    case.name
    for case in load_cases(GOLDEN)
    if "hoodie.table.metadata.partitions=" in str(case.facts)
    or case.name in {INDEXED, "v6_mor_mdt_indexes", "v9_mor_compaction_inline", KEYS_ARE_ROWS}
]


def rows_of(scan):
    return sorted(map(str, scan.to_arrow().to_pylist()))


@pytest.fixture
def path(golden_table, tmp_path):
    return shutil.copytree(golden_table(INDEXED), tmp_path / "table")


@pytest.fixture
def expected(golden_table):
    return rows_of(HudiTable(str(golden_table(INDEXED))).scan(use_metadata_table=False))


def listing_of(path, **options):
    text = HudiTable(str(path)).scan(**options).explain()
    return next(line for line in text.splitlines() if line.startswith("listing"))


@pytest.mark.parametrize("name", LISTED)
def test_slices_are_those_of_the_folders(golden_table, name):
    view = HudiTable(str(golden_table(name)))._view
    by_metadata = view.with_listing(MetadataListing(view))
    assert by_metadata.listing.summary().startswith("metadata table, ")
    assert by_metadata.slices.as_of() == view.slices.as_of()


@pytest.mark.parametrize("name", LISTED)
def test_slices_by_a_large_listing_are_those_of_the_folders(golden_table, name, monkeypatch):
    """Of a large listing only the partitions that are asked for are decoded."""
    monkeypatch.setattr(thresholds, "MOST_BYTES_AS_A_WHOLE", 0)
    view = HudiTable(str(golden_table(name)))._view
    by_metadata = view.with_listing(MetadataListing(view))
    assert by_metadata.slices.as_of() == view.slices.as_of()
    metadata = MetadataTable(view)
    bases = [s.file_slice.base_file for s in metadata.file_records.slices]
    assert (metadata.file_records._all_sizes is None) == any(bases)


@pytest.mark.parametrize("name", LISTED)
def test_merged_listing_is_that_of_single_records(golden_table, name):
    view = HudiTable(str(golden_table(name)))._view
    listing = MetadataListing(view)
    files = {
        f"{partition}/{file.name}".lstrip("/"): file.size
        for partition, entries in listing.files(listing.partitions()).items()
        for file in entries
    }
    assert files == listed_files(MetadataTable(view))


def test_no_folder_of_a_partition_is_listed(path, expected, monkeypatch):
    folders = []
    original = ArrowStorage.list_directory

    def watched(self, directory):
        folders.append(self.describe(directory))
        return original(self, directory)

    monkeypatch.setattr(ArrowStorage, "list_directory", watched)
    assert rows_of(HudiTable(str(path)).scan()) == expected
    assert folders
    assert [folder for folder in folders if "/.hoodie" not in folder] == []


def test_commits_that_it_recorded_are_not_read(path):
    view = HudiTable(str(path))._view
    expected = view.slices.as_of()
    view = HudiTable(str(path))._view
    slices = view.with_listing(MetadataListing(view)).slices.as_of
    for commit in (path / ".hoodie/timeline").glob("*commit"):
        commit.write_bytes(b"not a commit")
    assert slices() == expected
    with pytest.raises(CorruptTimelineError):
        slices(view.history.commits[-2].requested_time)


def test_commits_are_read_if_it_is_ahead_of_the_timeline(path):
    # A clean that the reader does not know may have removed files that its state needs.
    newest = max((path / ".hoodie/timeline").glob("*commit"))
    newest.unlink()
    view = HudiTable(str(path))._view
    listing = MetadataListing(view)
    assert listing.partitions()
    assert listing.recorded_commits() == frozenset()


def test_commits_are_read_if_it_turns_out_to_be_damaged(path, monkeypatch):
    view = HudiTable(str(path))._view
    expected = view.slices.as_of()
    lost = next(s.base_file for s in expected if s.base_file is not None and not s.log_files)
    (path / lost.path).unlink()

    def damaged(*_):
        raise CorruptTableError("damaged")

    monkeypatch.setattr(MetadataListing, "_recorded_files", damaged)
    with pytest.raises(MissingFileError, match=Path(lost.path).name):
        HudiTable(str(path)).scan().to_arrow()


@pytest.fixture
def created_late(monkeypatch):
    """It lists files of commits from before its creation, and may have missed some."""
    monkeypatch.setattr(RecordedCommits, "listed", frozenset())


@pytest.mark.usefixtures("created_late")
def test_files_that_it_lacks_are_found_in_their_folder(path, expected, monkeypatch, caplog):
    original = MetadataListing._recorded_files

    def without_logs(self, partition_paths):
        return {
            partition: [file for file in files if ".log." not in file.name]
            for partition, files in original(self, partition_paths).items()
        }

    monkeypatch.setattr(MetadataListing, "_recorded_files", without_logs)
    with caplog.at_level(logging.WARNING):
        assert rows_of(HudiTable(str(path)).scan()) == expected
    assert "the metadata table lacks " in caplog.text
    assert "it lacks committed files" in listing_of(path)


def test_sizes_that_it_lacks_are_those_of_the_folder(path, monkeypatch):
    original = MetadataListing._recorded_files

    def without_sizes(self, partition_paths):
        return {
            partition: [replace(file, size=0) for file in files]
            for partition, files in original(self, partition_paths).items()
        }

    monkeypatch.setattr(MetadataListing, "_recorded_files", without_sizes)
    view = HudiTable(str(path))._view
    assert view.with_listing(MetadataListing(view)).slices.as_of() == view.slices.as_of()


def test_file_that_is_longer_than_recorded_is_read_to_its_end(golden_table, monkeypatch):
    name = "v9_mor_compaction_inline"
    table = HudiTable(str(golden_table(name)))
    expected = rows_of(table.scan(query_type="read_optimized", use_metadata_table=False))
    original = MetadataListing._recorded_files

    def with_short_sizes(self, partition_paths):
        return {
            partition: [replace(file, size=2) for file in files]
            for partition, files in original(self, partition_paths).items()
        }

    monkeypatch.setattr(MetadataListing, "_recorded_files", with_short_sizes)
    scan = HudiTable(str(golden_table(name))).scan(query_type="read_optimized")
    tasks = [task for task in scan.plan() if isinstance(task, ScanTask)]
    parts = [replace(task, byte_range=cut) for task in tasks for cut in ((0, 1), (1, 2))]
    found = [row for part in parts for t in read_task(part, scan.storage) for row in t.to_pylist()]
    assert sorted(map(str, found)) == expected


@pytest.mark.usefixtures("created_late")
def test_partition_that_it_lacks_is_found_in_its_folder(path, expected, monkeypatch):
    whole = vars(MetadataTable)["partition_paths"]

    def all_but_the_first(self):
        return whole.func(self)[1:]

    monkeypatch.setattr(MetadataTable, "partition_paths", property(all_but_the_first))
    assert rows_of(HudiTable(str(path)).scan()) == expected


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 5000])
def test_damaged_one_is_left_aside(path, expected, damage):
    for file in (path / ".hoodie/metadata/files").glob("*.hfile"):
        file.write_bytes(damage)
    assert rows_of(HudiTable(str(path)).scan()) == expected
    assert "not the metadata table: " in listing_of(path)


def test_missing_one_is_left_aside(path, expected):
    shutil.rmtree(path / ".hoodie/metadata")
    assert rows_of(HudiTable(str(path)).scan()) == expected
    assert "is not a table" in listing_of(path)


def test_one_that_lags_behind_is_left_aside(path, expected):
    timeline = path / ".hoodie/metadata/.hoodie/timeline"
    newest = max(timeline.glob("*.deltacommit"), key=lambda file: file.name)
    instant = newest.name.split("_")[0]
    for file in timeline.glob(f"{instant}*"):
        file.unlink()
    assert rows_of(HudiTable(str(path)).scan()) == expected
    assert "lacks commit " in listing_of(path)


@pytest.mark.parametrize("name", ["v6_mor_mdt_indexes", "v9_mor_mdt_indexes"])
@pytest.mark.parametrize("share", [None, 0, 0.5])
def test_log_file_that_is_lost_or_cut_never_loses_rows(golden_table, tmp_path, name, share):
    path = shutil.copytree(golden_table(name), tmp_path / "table")
    expected = rows_of(HudiTable(str(path)).scan(use_metadata_table=False))
    logs = sorted((path / ".hoodie/metadata/files").glob(".files*.log.*"))
    left_aside = 0
    for log in logs:  # an older slice may have some, too
        content = log.read_bytes()
        log.unlink()
        if share is not None:
            log.write_bytes(content[: int(len(content) * share)])
        assert rows_of(HudiTable(str(path)).scan()) == expected
        left_aside += " lacks what commit " in listing_of(path)
        log.write_bytes(content)
    assert left_aside >= 2


def test_log_file_that_is_gone_after_the_listing_is_named(path):
    metadata = MetadataTable(HudiTable(str(path))._view)
    (files,) = metadata.slices("files", check_files=False)
    (log, *_) = files.file_slice.log_files
    (path / ".hoodie/metadata" / log.path).unlink()
    with pytest.raises(MissingFileError, match=Path(log.path).name):
        list(files.all())


def test_query_does_not_depend_on_those_before_it(path, expected):
    table = HudiTable(str(path))
    first = table.scan()
    assert first.explain()
    lost = table._view.slices.as_of()[0]
    listing = first._query.planner.view.listing
    assert listing.relist(lost.partition_path, "a file")
    assert "lacks committed files" in listing.summary()
    again = table.scan()._query.planner.view.listing
    assert again.files([lost.partition_path])
    assert "lacks committed files" not in again.summary()
    assert rows_of(table.scan()) == expected
