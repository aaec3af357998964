import io
import json

import pyarrow as pa
import pytest

from hudi_pyspark.errors import CorruptLogBlockError, UnsupportedTableError
from hudi_pyspark.format.bytes_source import StoredBytes
from hudi_pyspark.format.log.data_block import decode_data_block
from hudi_pyspark.format.log.delete_block import decode_deletes
from hudi_pyspark.format.log.log_block import LogBlockType
from hudi_pyspark.format.log.log_file import frame_log_file, salvage_log_file
from tests.format.log.native_writer import native_parquet, parquet_with, position_text

STEM = "ds=1/6425051b-0_0-553-887_20261122212438513_1"
PATH = f"{STEM}.log.parquet"
FIELDS = [("_hoodie_record_key", ["null", "string"]), ("v", ["null", "long"]), ("ts", "int")]
SCHEMA = json.dumps(
    {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in FIELDS]}
)
ROWS = pa.table(
    {
        "_hoodie_record_key": ["b", "a"],
        "v": pa.array([1, None], pa.int64()),
        "ts": pa.array([7, 8], pa.int32()),
    }
)
HEADER = {
    "SCHEMA": SCHEMA,
    "INSTANT_TIME": "20261122212438513",
    "RECORD_POSITIONS": position_text([6, 2]),
    "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": "20261122212437491",
}


class ReadFile(io.BytesIO):
    """A file that remembers where it was read."""

    def __init__(self, content, starts):
        super().__init__(content)
        self.starts = starts

    def read(self, size=-1):
        self.starts.append(self.tell())
        return super().read(size)


class ReadBytes(StoredBytes):
    """A native log on a storage, which remembers where it was read."""

    def __init__(self, content):
        self.content = content
        self.starts = []

    def __len__(self):
        return len(self.content)

    def __getitem__(self, span):
        return memoryview(self.content[span])

    def open(self):
        return ReadFile(self.content, self.starts)


def frame(data: bytes | ReadBytes, path: str = PATH):
    (block,) = frame_log_file(data, path=path)
    return block


def test_native_log_is_one_data_block_with_the_header_of_its_footer():
    block = frame(native_parquet(ROWS, HEADER))
    assert block.block_type is LogBlockType.PARQUET_DATA_BLOCK
    assert block.instant_time == "20261122212438513"
    assert block.positions_base_instant == "20261122212437491"
    assert block.record_positions_text == "AAAAAgYC"
    assert not block.is_partial
    assert decode_data_block(block, ["ts", "v"]).to_pydict() == {"v": [1, None], "ts": [7, 8]}


def test_footer_of_a_native_log_is_read_once():
    values = pa.array(range(100_000), pa.int64())
    rows = pa.table({"_hoodie_record_key": values.cast(pa.string()), "v": values})
    log = ReadBytes(native_parquet(rows, HEADER))
    end_at = len(log) - (64 << 10)  # bytes that pyarrow reads for a footer
    block = frame(log)
    assert log.starts == [end_at]
    assert decode_data_block(block, ["v"]).column("v").to_pylist() == values.to_pylist()
    assert len(log.starts) > 1
    assert log.starts.count(end_at) == 1


def test_header_may_be_one_entry_for_each_key():
    entries = {f"hudi.log.format.{key}": text for key, text in HEADER.items()}
    block = frame(parquet_with(ROWS, {**entries, "hudi.log.format.VERSION": "2"}))
    assert (block.instant_time, block.schema_text) == ("20261122212438513", SCHEMA)


def test_instant_of_the_name_is_used_where_the_header_has_none():
    assert frame(native_parquet(ROWS, {"SCHEMA": SCHEMA})).instant_time == "20261122212438513"


def test_partial_update_and_log_compaction_are_in_the_header():
    extra = {"IS_PARTIAL": "true", "COMPACTED_BLOCK_TIMES": "003,001", "SOMETHING_NEW": "x"}
    block = frame(native_parquet(ROWS, {**HEADER, **extra}))
    assert block.is_partial
    assert block.compacted_block_times == ("003", "001")


def test_deletes_have_keys_and_ordering_fields():
    deletes = pa.table({"_hoodie_record_key": ["b", "a"], "ts": pa.array([7, None], pa.int32())})
    block = frame(native_parquet(deletes, HEADER), f"{STEM}.deletes.parquet")
    assert block.block_type is LogBlockType.DELETE_BLOCK
    records = decode_deletes(block)
    assert records.record_keys.to_pylist() == ["b", "a"]
    assert records.is_commit_time.to_pylist() == [False, True]
    (group,) = records.ordering
    assert (group.rows.to_pylist(), group.values.to_pylist()) == ([0], [7])


def test_delete_without_values_of_several_ordering_fields_does_not_win_over_all():
    deletes = pa.table(
        {"_hoodie_record_key": ["b"], "v": pa.nulls(1, pa.int64()), "ts": pa.nulls(1, pa.int32())}
    )
    block = frame(native_parquet(deletes, HEADER), f"{STEM}.deletes.parquet")
    records = decode_deletes(block)
    assert records.is_commit_time.to_pylist() == [False]
    assert records.array_rows is not None
    assert [len(group.values) for (group,) in records.array_fields] == [0, 0]


def test_deletes_without_record_keys_are_refused():
    block = frame(native_parquet(ROWS.select(["ts"]), HEADER), f"{STEM}.deletes.parquet")
    with pytest.raises(CorruptLogBlockError, match="expected a column _hoodie_record_key"):
        decode_deletes(block)


def test_record_keys_of_deletes_that_are_not_text_are_refused():
    deletes = pa.table({"_hoodie_record_key": pa.array([b"\xff"]), "ts": pa.array([7], pa.int32())})
    block = frame(native_parquet(deletes, HEADER), f"{STEM}.deletes.parquet")
    with pytest.raises(CorruptLogBlockError, match="expected record keys as text, found binary"):
        decode_deletes(block)


def test_change_data_is_a_cdc_block():
    assert frame(native_parquet(ROWS, HEADER), f"{STEM}.cdc.parquet").block_type is (
        LogBlockType.CDC_DATA_BLOCK
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"", "expected a Parquet file", id="empty"),
        pytest.param(native_parquet(ROWS, HEADER)[:-9], "expected a Parquet file", id="cut"),
        pytest.param(parquet_with(ROWS, {}), "expected a SCHEMA", id="base-file"),
        pytest.param(native_parquet(ROWS, {}), "expected a SCHEMA", id="no-schema"),
        pytest.param(
            parquet_with(ROWS, {"hudi.log.format.metadata": "{"}), "not JSON", id="not-json"
        ),
        pytest.param(
            parquet_with(ROWS, {"hudi.log.format.metadata": '{"SCHEMA": 1}'}),
            "expected a header of texts",
            id="number",
        ),
        pytest.param(native_parquet(ROWS, {**HEADER, "VERSION": "two"}), "'two'", id="version"),
        pytest.param(
            native_parquet(ROWS, {**HEADER, "VERSION": "1" * 5000}), "VERSION is '111", id="long"
        ),
    ],
)
def test_damaged_native_log_is_refused(data, problem):
    with pytest.raises(CorruptLogBlockError, match=problem):
        frame(data)
    (salvaged,) = salvage_log_file(data, path=PATH)
    assert problem in salvaged.problem
    assert salvaged.block.block_type is LogBlockType.CORRUPT_BLOCK


def test_newer_header_and_other_formats_are_refused():
    with pytest.raises(UnsupportedTableError, match="version 3 of native logs; up to 2"):
        frame(native_parquet(ROWS, {**HEADER, "VERSION": "3"}))
    with pytest.raises(UnsupportedTableError, match="format 'vortex' are not supported"):
        frame(b"", f"{STEM}.log.vortex")
