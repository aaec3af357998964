import io
import re
import zipfile
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.reading.base_files.parquet import RowGroupFilter
from tests.conftest import GOLDEN

ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "fare": [float("nan") if i == 35 else float(i) for i in range(40)],
        "name": [None if i < 10 else f"n{i}" for i in range(40)],
        "inner": [{"n": i, "deep": {"m": -i}} for i in range(40)],
    }
)


@pytest.fixture(scope="module")
def file():
    sink = io.BytesIO()
    pq.write_table(ROWS, sink, row_group_size=10)
    return pq.ParquetFile(sink)


def chosen(file, text, **options):
    options = {"types": ROWS.schema, **options}
    return RowGroupFilter(parse_filter(text, options["types"]), **options).choose(file)[0]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("id = 25", [2]),
        ("id < 10", [0]),
        ("id > 100", []),
        ("id IN (5, 39)", [0, 3]),
        ("name IS NULL", [0]),
        ("name = 'n15'", [1]),
        ("inner.n = 25", [2]),
        ("inner IS NULL", [0, 1, 2, 3]),
        ("fare < 5", [0]),
        ("fare > 38", [0, 1, 2, 3]),  # there may be NaN
    ],
)
def test_row_groups_whose_bounds_rule_the_filter_out_are_left_out(file, text, groups):
    assert chosen(file, text) == groups


def test_column_that_is_stored_in_another_type_rules_nothing_out(file):
    types = ROWS.schema.set(0, pa.field("id", pa.string()))
    assert chosen(file, "id = '25'", types=types) == [0, 1, 2, 3]


def test_chunk_whose_type_contradicts_the_schema_rules_nothing_out():
    """pyarrow ends the process where it is asked for the statistics of such a chunk."""
    sink = io.BytesIO()
    pq.write_table(ROWS, sink, row_group_size=10)
    # Of each chunk: the type INT64, encodings, and the path. The schema is not changed.
    chunk = re.compile(rb"\x15\x04(\x19.{2,6}\x19\x18\x02id)", re.DOTALL)
    boolean, count = chunk.subn(b"\x15\x00\\1", sink.getvalue())
    damaged = pq.ParquetFile(io.BytesIO(boolean))
    assert count == damaged.num_row_groups == 4
    assert damaged.metadata.row_group(0).column(0).physical_type == "BOOLEAN"
    assert chosen(damaged, "id = 25") == [0, 1, 2, 3]
    assert chosen(damaged, "id = 25 AND name = 'n15'") == [1]


def test_renamed_column_is_looked_up_by_its_name_in_the_file(file):
    types = pa.schema({"key": pa.int64(), "id": pa.string()})
    names = {"key": "id", "id": "name"}
    assert chosen(file, "key = 25", types=types, stored_names=names) == [2]


def test_field_of_a_renamed_column_is_looked_up_in_the_file(file):
    types = pa.schema([pa.field("outer", ROWS.schema.field("inner").type)])
    assert chosen(file, "outer.deep.m = -25", types=types, stored_names={"outer": "inner"}) == [2]


def test_column_whose_values_do_not_come_from_the_file_rules_nothing_out(file):
    """Partition columns that were dropped on write: files may still hold them, null."""
    assert chosen(file, "id = 25 OR inner.n = 3", stored_names={"name": "name"}) == [0, 1, 2, 3]
    assert chosen(file, "id = 25", stored_names={"id": "id"}) == [2]


def test_parts_of_a_file_have_every_row_group_once(file):
    size = sum(file.metadata.row_group(g).total_byte_size for g in range(4)) * 2
    cuts = [size * n // 7 for n in range(8)]
    parts = [RowGroupFilter(byte_range=r).choose(file)[0] for r in pairwise(cuts)]
    assert sorted(g for part in parts for g in part) == [0, 1, 2, 3]
    assert sum(bool(part) for part in parts) > 1


def test_row_group_belongs_to_the_part_with_its_middle(file):
    metadata = file.metadata
    end = 2 * sum(metadata.row_group(g).total_byte_size for g in range(4))
    at = {
        byte: groups
        for byte in range(end)
        if (groups := RowGroupFilter(byte_range=(byte, byte + 1)).choose(file)[0])
    }
    assert list(at.values()) == [[0], [1], [2], [3]]
    for byte, (group,) in at.items():
        first = metadata.row_group(group).column(0)
        begin = first.dictionary_page_offset or first.data_page_offset
        columns = range(metadata.num_columns)
        size = sum(metadata.row_group(group).column(c).total_compressed_size for c in columns)
        assert byte == begin + size // 2


def test_file_without_bloom_filter_may_hold_any_key(file):
    assert RowGroupFilter(record_keys=("x",)).choose(file)[0] == [0, 1, 2, 3]
    assert RowGroupFilter(record_keys=()).choose(file)[0] == []


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        (("k1", "z"), []),
        (("k3",), [0]),
        (("k2",), [0]),
        (("k4", "k41"), [0]),
        (("é",), [0]),  # Java orders it differently
        ((), []),
    ],
)
def test_file_whose_key_range_rules_every_key_out_is_left_out(keys, groups):
    range_of_keys = {"hoodie_min_record_key": "k2", "hoodie_max_record_key": "k4"}
    sink = io.BytesIO()
    pq.write_table(ROWS.slice(0, 3).replace_schema_metadata(range_of_keys), sink)
    assert RowGroupFilter(record_keys=keys).choose(pq.ParquetFile(sink))[0] == groups


@pytest.mark.parametrize(
    ("keys", "groups", "left"),
    [
        (["k0005"], [0], ["k0005"]),
        (["k0005x"], [], []),
        (["k0005x", "k0005", "k0006y"], [0], ["k0005"]),
        (None, [0], None),
    ],
)
def test_keys_that_the_bloom_filter_does_not_have_are_left_out(keys, groups, left):
    with zipfile.ZipFile(GOLDEN / "v10_mor_log_compaction" / "table.zip") as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("114888.parquet"))
        file = pq.ParquetFile(io.BytesIO(archive.read(name)))
    wanted = None if keys is None else tuple(keys)
    assert RowGroupFilter(record_keys=wanted).choose(file) == (groups, left)


def test_key_ranges_of_apache_hudi_are_those_of_the_keys():
    ranges = list(key_ranges())
    assert len(ranges) > 100
    assert [r for r in ranges if r[0] != r[1]] == []


def key_ranges():
    """The first and last key of base files in golden tables: as in the footer, and by the rows."""
    for case in sorted(GOLDEN.glob("v*/table.zip")):
        with zipfile.ZipFile(case) as archive:
            for name in archive.namelist():
                if not name.endswith(".parquet") or "/.hoodie/" in name:
                    continue
                file = pq.ParquetFile(io.BytesIO(archive.read(name)))
                footer = file.metadata.metadata or {}
                if b"hoodie_min_record_key" in footer and file.metadata.num_rows:
                    bounds = [footer[f"hoodie_{end}_record_key".encode()] for end in ("min", "max")]
                    if "_hoodie_record_key" in file.schema_arrow.names:
                        keys = file.read(["_hoodie_record_key"]).column(0).to_pylist()
                        encoded = [key.encode() for key in keys]
                        yield bounds, [min(encoded), max(encoded)]
