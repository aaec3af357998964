"""Texts of base files that are not UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_pyspark import CorruptTableError, HudiTable
from hudi_pyspark.table.meta_columns import META_COLUMNS, RECORD_KEY_COLUMN
from tests.written_table import WrittenTable

if TYPE_CHECKING:
    from pathlib import Path

TEXT = ["null", "string"]
AVRO = {
    "type": "record",
    "name": "r",
    "fields": [{"name": name, "type": TEXT} for name in (*META_COLUMNS, "id", "u")],
}
PROPERTIES = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
BASE = "f-0_0-0-0_20240101000000000.parquet"


@pytest.fixture
def table(tmp_path: Path) -> HudiTable:
    """Rows a and b, and a text of b that is a byte in Latin-1, so that the footer has it."""
    written = WrittenTable(tmp_path, AVRO, PROPERTIES)
    octets = pa.array([b"a", b"\xe9", None], pa.binary())
    columns = dict.fromkeys(META_COLUMNS, pa.array([""] * 3))
    keys = columns[RECORD_KEY_COLUMN] = columns["id"] = pa.array(["a", "b", "c"])
    columns["u"] = pa.Array.from_buffers(pa.string(), len(keys), octets.buffers())
    written.put_parquet(BASE, pa.table(columns))
    written.commit("20240101000000000", "commit", [("f-0", BASE)], numInserts=3)
    return HudiTable(str(tmp_path))


@pytest.mark.parametrize("condition", ["", "u = 'a'", "u IS NULL", "u LIKE 'a%'", "id = 'b'"])
def test_column_with_such_a_text_is_refused_by_name(table, condition):
    with pytest.raises(CorruptTableError, match=f"{BASE}: column 'u' has a text that is not UTF-8"):
        table.scan(["u"], **({"filter": condition} if condition else {})).to_arrow()


@pytest.mark.parametrize(("condition", "rows"), [("id = 'b'", 1), ("id > 'a'", 2), ("", 3)])
def test_other_columns_are_read(table, condition, rows):
    scan = table.scan(["id"], **({"filter": condition} if condition else {}))
    assert scan.to_arrow().num_rows == rows
