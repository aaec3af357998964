import pyarrow as pa

from hudi_pyspark.report.sections import largest_groups, older_bytes


def test_group_with_the_most_log_bytes_comes_first():
    sizes = [("a", 9, 0), ("b", 1, 5), ("c", 3, 7), ("d", 10, 0)]
    names = ("partition_path", "file_id", "base_bytes", "log_bytes")
    slices = pa.Table.from_pylist([dict(zip(names, ("p", *row), strict=True)) for row in sizes])
    assert [group["file_id"] for group in largest_groups(slices, 3)] == ["c", "b", "d"]


def test_files_of_older_slices_are_summed_and_changes_left_out():
    rows = [("a", 100, "base", True), ("a", 60, "base", False), ("a", 7, "log", False)]
    rows += [("a", 5, "cdc", False), ("gone", 3, "base", False)]
    names = ("partition_path", "file_id", "bytes", "kind", "in_latest_slice")
    files = pa.Table.from_pylist([dict(zip(names, ("p", *row), strict=True)) for row in rows])
    assert older_bytes(files) == {("p", "a"): 67, ("p", "gone"): 3}
