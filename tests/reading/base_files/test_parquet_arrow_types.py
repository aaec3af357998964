"""Parquet files of writers on Arrow, which store Arrow's own types in the footer as well."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.format.parquet.checked_file import open_parquet
from hudi_pyspark.reading.base_files.base_file import read_base_file
from tests.memory_storage import MemoryStorage

TEXTS = ["a", None, "ARROW:schema", "x" * 40]
BYTES = [b"a", None, b"ARROW:schema", b"x" * 40]
NUMBERS = [1, None, -3, 2]
COLUMNS = {
    "string_view": (pa.array(TEXTS, pa.string_view()), pa.string()),
    "binary_view": (pa.array(BYTES, pa.binary_view()), pa.binary()),
    "large_string": (pa.array(TEXTS, pa.large_string()), pa.string()),
    "dictionary": (pa.array(TEXTS).dictionary_encode(), pa.string()),
    "duration": (pa.array(NUMBERS, pa.duration("us")), pa.int64()),
    "json": (pa.array(TEXTS, pa.json_()) if hasattr(pa, "json_") else pa.array(TEXTS), pa.string()),
    "uint8": (pa.array([1, None, 3, 200], pa.uint8()), pa.int32()),
    "int8": (pa.array(NUMBERS, pa.int8()), pa.int32()),
    "zoned": (pa.array(NUMBERS, pa.timestamp("us", "America/New_York")), pa.timestamp("us", "UTC")),
    "list_of_views": (
        pa.array([TEXTS, None, [], TEXTS[:1]], pa.list_(pa.string_view())),
        pa.list_(pa.string()),
    ),
    "large_list": (
        pa.array([TEXTS, None, [], TEXTS[:1]], pa.large_list(pa.large_string())),
        pa.list_(pa.string()),
    ),
    "struct_of_views": (
        pa.array([{"a": "x"}, None, {"a": None}, {"a": "y"}], pa.struct({"a": pa.string_view()})),
        pa.struct({"a": pa.string()}),
    ),
    "map_of_durations": (
        pa.array([[("k", 1)], None, [], [("l", 2)]], pa.map_(pa.string(), pa.duration("us"))),
        pa.map_(pa.string(), pa.int64()),
    ),
}


def stored(column):
    """A file with the column and a record key, or a skipped test where pyarrow cannot write it."""
    keys = pa.array(
        ["k0", "k1", "k2", "k3"], column.type if column.type == pa.string_view() else None
    )
    octets = io.BytesIO()
    try:
        pq.write_table(pa.table({"_hoodie_record_key": keys, "v": column}), octets)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow cannot write the type")
    return octets.getvalue()


@pytest.mark.parametrize(("column", "target"), COLUMNS.values(), ids=COLUMNS)
def test_types_of_arrow_are_read_as_those_of_parquet(column, target):
    content = stored(column)
    storage = MemoryStorage({"f.parquet": content})
    (table,) = read_base_file(storage, "f.parquet", ["_hoodie_record_key", "v"], 100)
    schema = pa.schema({"_hoodie_record_key": pa.string(), "v": target})
    rows = conform(table, schema, {}, source="f")
    as_python = (
        column.cast(pa.duration("us")).cast(pa.int64())
        if column.type == pa.duration("us")
        else column
    )
    expected = as_python.to_pylist()
    if pa.types.is_map(target):
        expected = [[("k", 1)], None, [], [("l", 2)]]
    assert rows.column("v").to_pylist() == expected
    assert rows.column("_hoodie_record_key").to_pylist() == ["k0", "k1", "k2", "k3"]


def test_values_that_look_like_the_key_of_the_types_keep_their_statistics():
    content = stored(pa.array(["ARROW:schema"] * 4, pa.string_view()))
    file = open_parquet(io.BytesIO(content))
    assert file.metadata.row_group(0).column(1).statistics.min == "ARROW:schema"
    assert file.schema_arrow.field("v").type == pa.string()
    assert b"ARROW:schema" not in file.metadata.metadata
