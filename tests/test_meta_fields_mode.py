"""Ranges of tables whose files have some of the meta columns: ``hoodie.meta.fields.mode``.

No release of Apache Hudi that writes the property is in Maven. What it means is that of apache/hudi
#19205: all five columns are in the files, and the mode says which of them are not null.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, UnsupportedTableError
from tests.table.tiny_table import TinyTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WITH_TIMES = ["COMMIT_TIME_ONLY", "COMMIT_TIME_AND_FILE_NAME", " COMMIT_TIME_ONLY "]
WITHOUT_TIMES = ["", "NONE", "FILE_NAME_ONLY", "commit_time_only", "OF_A_LATER_RELEASE"]
META = [f"_hoodie_{name}" for name in ("commit_seqno", "record_key", "partition_path", "file_name")]


def parquet(rows: Mapping[str, str | None]) -> bytes:
    """A file of ids, each with the commit that wrote it; the other meta columns are null."""
    columns = {
        "_hoodie_commit_time": pa.array([*rows.values()], pa.string()),
        **{name: pa.nulls(len(rows), pa.string()) for name in META},
        "id": pa.array([*rows]),
    }
    body = io.BytesIO()
    pq.write_table(pa.table(columns), body)
    return body.getvalue()


def table_in(folder: Path, second: Mapping[str, str | None], version: int = 10, **properties: str):
    """A table of two commits; the second rewrites the file group."""
    table = TinyTable(version, "COPY_ON_WRITE", table__recordkey__fields="id", **properties)
    first = parquet({"a": "010", "b": "010"} if second["a"] else dict.fromkeys(second))
    table.data("f_0-1-0_010.parquet", content=first).write("010", "commit", "f_0-1-0_010.parquet")
    table.data("f_0-1-0_020.parquet", content=parquet(second))
    table.write("020", "commit", "f_0-1-0_020.parquet")
    for path, content in table.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return HudiTable(folder)


def ids(scan):
    found = scan.to_arrow()
    assert scan.count() == found.num_rows
    return sorted(found["id"].to_pylist())


@pytest.mark.parametrize("mode", WITH_TIMES)
@pytest.mark.parametrize("version", [6, 10])
def test_range_is_answered_by_the_times_that_rows_have(tmp_path, version, mode):
    rows = {"a": "010", "b": "020", "c": "020"}
    table = table_in(
        tmp_path, rows, version, populate__meta__fields="false", meta__fields__mode=mode
    )
    begin, end = ("010", "020") if version == 6 else ("015", "025")
    assert ids(table.scan(begin="000")) == ["a", "b", "c"]
    assert ids(table.scan(begin=begin)) == ["b", "c"]
    assert ids(table.scan(begin=begin, filter="id = 'a'")) == []
    assert ids(table.scan(begin=begin, filter="id <> 'b'")) == ["c"]
    assert ids(table.scan(begin="000", end=begin)) == ["a", "b"]
    assert ids(table.scan(begin=end)) == []
    assert table.scan(begin=begin).schema.names == ["id"]
    assert ids(table.scan()) == ["a", "b", "c"]


@pytest.mark.parametrize("mode", WITHOUT_TIMES)
def test_range_without_times_is_refused_by_name(tmp_path, mode):
    rows: dict[str, str | None] = {"a": None, "b": None}
    table = table_in(tmp_path, rows, populate__meta__fields="false", meta__fields__mode=mode)
    with pytest.raises(UnsupportedTableError, match=r"populate\.meta\.fields=false") as raised:
        table.scan(begin="000").to_arrow()
    is_named = mode not in ("", "NONE")
    assert (f"hoodie.meta.fields.mode={mode}" in str(raised.value)) == is_named
    assert ids(table.scan()) == ["a", "b"]


@pytest.mark.parametrize("mode", ["COMMIT_TIME_ONLY", "NONE"])
def test_mode_counts_only_if_not_all_columns_have_values(tmp_path, mode):
    rows = {"a": "010", "b": "020"}
    table = table_in(tmp_path, rows, populate__meta__fields="true", meta__fields__mode=mode)
    assert ids(table.scan(begin="015")) == ["b"]
    assert "_hoodie_record_key" in table.scan().schema.names


@pytest.mark.parametrize(
    "properties",
    [
        {"populate__meta__fields": "false", "meta__fields__mode": "COMMIT_TIME_ONLY"},
        {"populate__meta__fields": "true"},
    ],
    ids=["mode", "all"],
)
@pytest.mark.parametrize("version", [6, 10])
def test_rows_without_a_time_in_files_of_the_range_are_refused(tmp_path, version, properties):
    """A table whose mode was changed keeps older files as they are."""
    rows = {"a": None, "b": "020"}
    table = table_in(tmp_path, rows, version, **properties)
    with pytest.raises(UnsupportedTableError, match="1 rows in files of the range have no"):
        table.scan(begin="015").to_arrow()
    with pytest.raises(UnsupportedTableError, match="1 rows in files of the range have no"):
        table.scan(begin="015").count()
    assert ids(table.scan()) == ["a", "b"]
