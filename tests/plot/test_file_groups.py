import pyarrow as pa

from hudi_pyspark.plot.charts import file_groups_picture

FILES = pa.schema(
    [
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("kind", pa.string()),
        ("bytes", pa.int64()),
        ("in_latest_slice", pa.bool_()),
    ]
)


def group(file_id, base, logs=0, partition="p"):
    return {
        "partition_path": partition,
        "file_id": file_id,
        "base_instant_time": "20260301080000000",
        "base_bytes": base,
        "log_count": 2 if logs else 0,
        "log_bytes": logs,
    }


def file(file_id, size, kind="base", *, latest=False):
    return dict(zip(FILES.names, ("p", file_id, kind, size, latest), strict=True))


SLICES = pa.Table.from_pylist([group("x", 1)]).schema


def draw(groups, files=()):
    return file_groups_picture(
        "trips",
        pa.Table.from_pylist(groups, schema=SLICES),
        pa.Table.from_pylist(list(files), schema=FILES),
    ).spec


def bars(spec):
    return [(v["group"], v["part"], v["bytes"]) for v in spec["data"]["values"]]


def facts(spec):
    return spec["title"]["subtitle"]


def test_logs_lie_left_of_zero_and_the_base_file_right_of_it():
    assert bars(draw([group("a", 100, 30)])) == [
        ("p/a", "log files", -30),
        ("p/a", "base file", 100),
    ]


def test_group_with_the_most_log_bytes_comes_first():
    spec = draw([group("a", 9), group("b", 1, 5), group("c", 3, 7), group("d", 10)])
    assert list(dict.fromkeys(name for name, _, _ in bars(spec))) == ["p/c", "p/b", "p/d", "p/a"]


def test_group_of_log_files_only_has_no_base():
    spec = draw([group("a", None, 30)])
    assert bars(spec) == [("p/a", "log files", -30)]
    assert facts(spec) == ["1 file group: 0 B in base files, 30 B in log files of 1 group"]


def test_files_of_older_slices_are_summed_and_changes_left_out():
    files = [file("a", 100, latest=True), file("a", 60), file("a", 7, "log"), file("a", 5, "cdc")]
    spec = draw([group("a", 100)], [*files, file("gone", 3)])
    assert ("p/a", "older slices", 67) in bars(spec)
    # Those of a file group that was replaced lie there as well.
    assert facts(spec)[1] == "70 B in files that no latest slice has"


def test_facts_name_the_debt():
    spec = draw([group("a", 150_000, 30_000), group("b", 50_000)])
    assert facts(spec) == [
        "2 file groups: 200.0 kB in base files, 30.0 kB in log files of 1 group (15.0% of base)"
    ]


def test_legend_has_only_what_is_there():
    spec = draw([group("a", 100)])
    assert spec["encoding"]["color"]["scale"]["domain"] == ["base file"]


def test_names_are_as_short_as_they_are_unique():
    long = [group("abcdefgh-1111-2222-0", 2), group("zbcdefgh-1111-2222-0", 1)]
    assert {name for name, _, _ in bars(draw(long))} == {"p/abcdefgh", "p/zbcdefgh"}
    alike = [group("00000001-aaaa-0", 2), group("00000001-bbbb-0", 1)]
    assert {name for name, _, _ in bars(draw(alike))} == {"p/00000001-aaaa", "p/00000001-bbbb"}
    ends = [group("00000001-aaaa-bbbb-cccc-0", 2), group("00000001-aaaa-bbbb-cccc-1", 1)]
    assert {name for name, _, _ in bars(draw(ends))} == {f"p/{g['file_id']}" for g in ends}


def test_group_of_an_unpartitioned_table_is_named_by_its_file_id():
    assert bars(draw([group("a", 1, partition="")]))[0][0] == "a"


def test_names_give_way_when_there_are_many():
    few, many = (draw([group(f"f{n}", 10) for n in range(count)]) for count in (5, 500))
    assert "labels" not in few["encoding"]["y"]["axis"]
    assert many["encoding"]["y"]["axis"]["labels"] is False
    assert many["height"]["step"] * 500 <= 800
    assert len(bars(many)) == 500


def test_of_thousands_those_with_the_most_log_bytes_are_shown_and_all_are_counted():
    spec = draw([group(f"f{n}", 10, n) for n in range(1200)])
    shown = [v["file_id"] for v in spec["data"]["values"] if v["part"] == "log files"]
    assert (shown[0], shown[-1], len(shown)) == ("f1199", "f700", 500)
    assert facts(spec)[0].startswith("1,200 file groups: 12.0 kB in base files")
    assert facts(spec)[-1] == "shown: the 500 with the most bytes in log files"


def test_table_without_file_groups_says_so():
    assert facts(draw([])) == ["no file group yet"]
