import pytest

from hudi_pyspark.table.listing import DirectoryListing
from tests.memory_storage import MemoryStorage

MARKER = ".hoodie_partition_metadata"


class CountingStorage(MemoryStorage):
    def __init__(self, files):
        super().__init__(files)
        self.listed = []

    def list_directory(self, directory):
        self.listed.append(directory)
        return super().list_directory(directory)


def listing(*paths, is_partitioned=True):
    storage = CountingStorage(dict.fromkeys(paths, b"x"))
    return DirectoryListing(storage, may_have_partitions=is_partitioned)


def names(files):
    return {partition: sorted(f.name for f in found) for partition, found in files.items()}


@pytest.mark.parametrize(
    "paths",
    [[], ["f_0_1.parquet"], [f"{MARKER}", "f_0_1.parquet"], [f"p=1/{MARKER}", "f_0_1.parquet"]],
    ids=["empty", "without-marker", "with-marker", "folders-are-none-of-it"],
)
def test_unpartitioned_table_is_the_base_path_alone(paths):
    assert listing(*paths, is_partitioned=False).partitions() == [""]


@pytest.mark.parametrize("marker", [MARKER, f"{MARKER}.parquet", f"{MARKER}.orc"])
def test_folder_with_a_marker_is_a_partition(marker):
    assert listing(f"b/{marker}", f"a/{marker}", "c/f_0_1.parquet").partitions() == ["a", "b"]


@pytest.mark.parametrize(
    "name", [f".{MARKER}.crc", f"{MARKER}.parquet.crc", "hoodie_partition_metadata", f"{MARKER}2"]
)
def test_other_names_are_no_markers(name):
    assert listing(f"a/{name}").partitions() == []


def test_nested_folders_are_searched_level_by_level():
    found = listing(f"2024/01/31/{MARKER}", f"2024/02/{MARKER}", f"{'x/' * 6}{MARKER}")
    assert found.partitions() == ["2024/01/31", "2024/02", "x/x/x/x/x/x"]


def test_partition_is_not_descended_into():
    found = listing(f"a/{MARKER}", f"a/b/{MARKER}", f"a/b/c/{MARKER}")
    assert found.partitions() == ["a"]
    assert "a/b" not in found._storage.listed


@pytest.mark.parametrize("folder", [".hoodie", "raw/.hoodie"])
def test_metadata_folder_is_skipped_at_every_level(folder):
    found = listing(f"{folder}/metadata/files/{MARKER}", f"a/{MARKER}")
    assert found.partitions() == ["a"]
    assert folder not in found._storage.listed


def test_other_hidden_folders_are_searched():
    assert listing(f".p=1/{MARKER}").partitions() == [".p=1"]


def test_marker_in_the_base_path_does_not_hide_the_partitions():
    assert listing(MARKER, f"a/{MARKER}", f"b/c/{MARKER}").partitions() == ["", "a", "b/c"]


@pytest.mark.parametrize("path", ["p=x y%2Fz%3A%25", "p=é", "a b", "__HIVE_DEFAULT_PARTITION__"])
def test_partition_paths_are_raw(path):
    assert listing(f"{path}/{MARKER}").partitions() == [path]


def test_files_are_those_directly_in_the_partition():
    found = listing(f"a/{MARKER}", "a/f_0_1.parquet", "a/sub/g_0_1.parquet", f"b/{MARKER}")
    expected = {"a": [MARKER, "f_0_1.parquet"], "b": [MARKER]}
    assert names(found.files(["a", "b"])) == expected


def test_files_are_the_same_before_and_after_the_partitions_are_found():
    paths = [f"a/{MARKER}", "a/f_0_1.parquet", "a/sub/g_0_1.parquet"]
    found = listing(*paths)
    found.partitions()
    assert names(found.files(["a"])) == names(listing(*paths).files(["a"]))


def test_missing_partition_has_no_files():
    assert listing(f"a/{MARKER}").files(["gone"]) == {"gone": []}


def test_each_folder_is_listed_once():
    found = listing(f"a/{MARKER}", f"b/c/{MARKER}")
    found.files(found.partitions())
    found.files(["a"])
    assert sorted(found._storage.listed) == ["", "a", "b", "b/c"]
