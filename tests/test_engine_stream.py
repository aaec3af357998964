"""Streams for engines: a named error is one line, and a defect keeps its traceback."""

import re

import duckdb
import pyarrow as pa
import pytest

from hudi_pyspark import CorruptLogBlockError, HudiTable
from hudi_pyspark.engine_stream import engine_stream
from tests.damage import data_file, unpack
from tests.frames.golden_rows import MOR

BATCH = pa.record_batch({"a": [1, 2]})


def batches(error):
    """One batch, and then an error with a cause."""
    yield BATCH
    try:
        int("cause")
    except ValueError as cause:
        raise error from cause


def test_reader_gives_the_batches_and_then_raises_the_error_itself():
    error = CorruptLogBlockError("found", "path", 7)
    reader = engine_stream(BATCH.schema, batches(error))
    assert reader.read_next_batch() == BATCH
    with pytest.raises(CorruptLogBlockError) as raised:
        reader.read_next_batch()
    assert raised.value is error


def test_stream_without_an_error_ends():
    assert engine_stream(BATCH.schema, iter([BATCH])).read_all().num_rows == 2


@pytest.mark.parametrize("error", [CorruptLogBlockError("found", "path", 7), KeyboardInterrupt()])
def test_expected_error_is_one_line_to_an_engine(error):
    database = duckdb.connect()
    database.register("t", engine_stream(BATCH.schema, batches(error)))
    with pytest.raises(duckdb.Error, match=type(error).__name__) as raised:
        database.execute("FROM t").fetchall()
    assert len(str(raised.value).strip().splitlines()) == 1


def test_traceback_of_a_defect_is_shown():
    database = duckdb.connect()
    database.register("t", engine_stream(BATCH.schema, batches(AssertionError("defect"))))
    with pytest.raises(duckdb.Error, match="Traceback"):
        database.execute("FROM t").fetchall()


@pytest.mark.parametrize("choose", [HudiTable.scan, lambda table: table])
def test_scans_and_tables_are_such_streams(choose, tmp_path):
    path = unpack(MOR, tmp_path)
    log = data_file(path, ".*.log.*")
    log.unlink()
    stream = pa.RecordBatchReader.from_stream(choose(HudiTable(path)))
    with pytest.raises(
        (OSError, pa.ArrowException), match=f"{re.escape(str(log))} was committed"
    ) as raised:
        stream.read_all()
    assert len(str(raised.value).strip().splitlines()) == 1
