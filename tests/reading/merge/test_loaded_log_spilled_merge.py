import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.merge.loaded_log import MemoryLimits, load_log
from hudi_pyspark.table.merge_mode import MergeRule, PayloadMerger, RecordMergeMode
from tests.format.log.log_writer import write_block
from tests.reading.log_records.log_files import (
    BASE_INSTANT,
    ENOUGH_MEMORY,
    KEY,
    avro_record,
    data_block,
    delete_block,
    framed,
    log_decoder,
    merged_slice,
    nullable,
    rule_of,
    wrapped,
)

SCHEMA = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string())])
AVRO = avro_record(ts=nullable("long"), v=nullable("string"))
RULE = rule_of()
BASE = [
    pa.Table.from_pylist([{KEY: f"k{n}", "ts": 1, "v": "base"} for n in numbers], schema=SCHEMA)
    for numbers in (range(50), range(50, 90))
]
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


def rows(*numbers: int, ts: int = 2, v: str = "log", positions: list[int] | None = None) -> bytes:
    records = [{KEY: f"k{number}", "ts": ts, "v": v} for number in numbers]
    return data_block(AVRO, records, positions=positions)


LOG = rows(*range(40, 120)) + delete_block([("k3", None), ("k41", wrapped("Long", 1))])
LOG += rows(5, 45, ts=0, v="late") + rows(6, 46, 200, ts=3, v="newer")
OF_LOG = dict.fromkeys(range(40, 120), "log") | {6: "newer", 46: "newer", 200: "newer"}
EXPECTED = {f"k{n}": OF_LOG.get(n, "base") for n in {*range(120), 200} - {3}}


def merged(log: bytes, memory: int) -> dict[str, str]:
    tables = merged_slice(log, BASE, log_decoder(SCHEMA, RULE), memory=memory)
    answer = pa.concat_tables(tables)
    values = dict(zip(answer[KEY].to_pylist(), answer["v"].to_pylist(), strict=True))
    assert len(values) == answer.num_rows
    return values


@pytest.mark.parametrize("memory", [1, 5_000, 20_000, ENOUGH_MEMORY])
def test_rows_do_not_depend_on_the_memory(memory):
    assert merged(LOG, memory) == EXPECTED


def calls(log: bytes, memory: int, decoder: LogDecoder | None = None) -> list[tuple[int, int]]:
    """How many base rows and log records came together, call by call."""
    seen = []

    def merge_pass(base, records):
        seen.append((sum(table.num_rows for table in base), len(records)))
        return iter(())

    limits = MemoryLimits(memory, os.curdir)
    decoder = decoder or log_decoder(SCHEMA, RULE)
    with closing(load_log(framed(log), decoder, limits)) as loaded:
        list(loaded.merge(BASE, merge_pass))
    return seen


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_pass_has_all_where_memory_is_enough():
    assert calls(LOG, ENOUGH_MEMORY) == [(90, 87)]


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("memory", [1, 5_000])
def test_passes_share_out_both_sides(memory):
    seen = calls(LOG, memory)
    assert len(seen) > 1
    assert sum(base for base, _ in seen) == 90
    assert sum(records for _, records in seen) <= 87  # some fold when they are loaded
    assert max(records for _, records in seen) < 60


@pytest.mark.usefixtures("in_folder")
def test_fullest_bucket_decides_how_many_passes_there_are():
    assert len(calls(rows(1, 2), memory=1)) > 32  # although most buckets have no records


def test_records_of_one_key_are_folded_when_they_are_too_many():
    log = b"".join(rows(7, ts=n) for n in range(50))
    seen = calls(log, 4_000)
    assert len(seen) > 1
    assert 1 <= sum(records for _, records in seen) < 10


@pytest.mark.parametrize("memory", [1, ENOUGH_MEMORY])
def test_base_row_of_an_lsm_tree_is_the_oldest_of_its_records(memory):
    rule = replace(RULE, folds_base_rows=True)
    # The delete has no ordering value and beats the base row, so the late record meets no value.
    log = delete_block([("k3", None)]) + rows(3, ts=0, v="late")
    tables = merged_slice(log, BASE, log_decoder(SCHEMA, rule), memory=memory)
    answer = pa.concat_tables(tables).to_pylist()
    assert {row[KEY]: row["v"] for row in answer}["k3"] == "late"


@pytest.mark.usefixtures("in_folder")
def test_positions_count_when_records_are_spilled():
    decoder = log_decoder(SCHEMA, RULE, BASE_INSTANT)
    # Keys that the base does not have: only their positions say which rows they replace.
    log = rows(1000, 1001, positions=[3, 70]) + rows(1002, positions=[70])
    tables = merged_slice(log, BASE, decoder, memory=1)
    found = pa.concat_tables(tables)[KEY].to_pylist()
    assert sorted(found) == sorted(
        {f"k{n}" for n in range(90)} - {"k3", "k70"} | {"k1000", "k1002"}
    )


@pytest.mark.usefixtures("in_folder")
def test_positions_count_in_more_rows_than_there_are_buckets():
    names = [{KEY: f"k{n}", "ts": 1, "v": "base"} for n in range(300)]
    base = [pa.Table.from_pylist(names, schema=SCHEMA)]
    decoder = log_decoder(SCHEMA, RULE, BASE_INSTANT)
    tables = merged_slice(rows(1000, positions=[290]), base, decoder, memory=1)
    found = pa.concat_tables(tables)[KEY].to_pylist()
    assert sorted(found) == sorted({f"k{n}" for n in range(300)} - {"k290"} | {"k1000"})


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("is_first", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize("first_position", [7, 600], ids=["other-rows", "no-rows"])
@pytest.mark.parametrize("memory", [1, 2_000, ENOUGH_MEMORY])
def test_block_without_positions_makes_all_go_by_key(memory, first_position, is_first):
    decoder = log_decoder(SCHEMA, RULE, BASE_INSTANT)
    # By position these would replace other rows, or none. Blocks of one kind would be decoded
    # together, so that all of them go by key from the beginning: the delete block stands between.
    second = first_position + 1
    blocks = [
        rows(1, 2, positions=[second, second + 1]) + rows(3, positions=[first_position]),
        delete_block([("k81", None)]),
        rows(80),
    ]
    log = b"".join(reversed(blocks) if is_first else blocks)
    answer = pa.concat_tables(merged_slice(log, BASE, decoder, memory=memory)).to_pylist()
    assert sorted(row[KEY] for row in answer) == sorted(f"k{n}" for n in range(90) if n != 81)
    assert {row[KEY] for row in answer if row["v"] == "log"} == {"k1", "k2", "k3", "k80"}


CUSTOM = MergeRule(
    mode=RecordMergeMode.CUSTOM,
    ordering_fields=("ts",),
    payload_class="com.acme.Joined",
    merge_strategy_id="",
    partial_update_mode="",
    delete_field="",
    delete_marker="",
)


def joined(older: pa.Table, newer: pa.Table) -> pa.Table:
    """The texts of both, in order: it matters which came first."""
    texts = [a + b for a, b in zip(older["v"].to_pylist(), newer["v"].to_pylist(), strict=True)]
    return newer.set_column(2, "v", pa.array(texts))


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("memory", [1, 4_000, ENOUGH_MEMORY])
def test_users_merger_sees_all_records_of_a_key_in_order(memory):
    log = b"".join(rows(7, 95, v=letter) for letter in "abcdefgh") + delete_block([("k8", None)])
    decoder = log_decoder(SCHEMA, replace(CUSTOM, merger=PayloadMerger(joined, None)))
    tables = merged_slice(log, BASE, decoder, memory=memory)
    values = {row[KEY]: row["v"] for table in tables for row in table.to_pylist()}
    assert (values["k7"], values["k95"]) == ("baseabcdefgh", "abcdefgh")
    assert len(values) == 90


def open_files(folder: Path, pid: int | str = "self") -> list[str]:
    """Files of a folder that a process has open, also those without a name."""
    links = [str(entry.resolve()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return [link for link in links if link.startswith(str(folder))]


def spilling(folder: Path, log: bytes = LOG):
    decoder = log_decoder(SCHEMA, RULE)
    return merged_slice(log, BASE, decoder, memory=1, folder=str(folder))


@needs_proc
def test_spill_file_is_gone_when_all_rows_are_read(tmp_path):
    tables = spilling(tmp_path)
    next(tables)
    assert len(open_files(tmp_path)) == 1
    assert list(tmp_path.iterdir()) == []  # it never has a name
    list(tables)
    assert open_files(tmp_path) == []


@needs_proc
def test_spill_file_is_gone_when_reading_stops_early(tmp_path):
    tables = spilling(tmp_path)
    next(tables)
    tables.close()
    assert (open_files(tmp_path), list(tmp_path.iterdir())) == ([], [])


@needs_proc
def test_spill_file_is_gone_after_an_error(tmp_path):
    header: dict[HeaderKey | int, str] = {HeaderKey.INSTANT_TIME: "002", HeaderKey.SCHEMA: "{"}
    broken = write_block(LogBlockType.AVRO_DATA_BLOCK, header, b"")
    with pytest.raises(CorruptLogBlockError) as raised:
        list(spilling(tmp_path, LOG + broken))
    assert raised.value.__traceback__ is not None  # which holds the frames of the read
    assert (open_files(tmp_path), list(tmp_path.iterdir())) == ([], [])


READ_AND_WAIT = """
import sys, time
from hudi_pyspark import HudiTable
options = {"hoodie.memory.merge.max.size": "1", "hoodie.memory.spillable.map.path": sys.argv[2]}
# One thread stops after the first batch, its slice half read; several may have read all by then.
batches = HudiTable(sys.argv[1]).scan(**options).to_batches(threads=1)
next(batches)
print("reading", flush=True)
time.sleep(600)
"""


@needs_proc
def test_spill_file_is_gone_when_the_process_is_killed(tmp_path, golden_table):
    table = str(golden_table("v9_mor_nonpart_commit_time"))
    command = [sys.executable, "-c", READ_AND_WAIT, table, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        opened = open_files(tmp_path, process.pid)
        process.kill()
    assert first_line == b"reading\n"
    assert opened  # one for each file slice that is being read
    assert list(tmp_path.iterdir()) == []


def test_options_of_a_scan_reach_the_read(tmp_path, golden_table):
    table = HudiTable(str(golden_table("v9_mor_nonpart_commit_time")))
    folder = tmp_path / "spill"
    small = table.scan(merge_memory=1, spill_folder=str(folder)).to_arrow()
    assert folder.is_dir()
    assert small.num_rows == table.scan().to_arrow().num_rows


@needs_proc
def test_spill_files_are_gone_when_a_scan_is_left_early(tmp_path, golden_table):
    table = HudiTable(str(golden_table("v9_mor_nonpart_commit_time")))
    batches = table.scan(merge_memory=1, spill_folder=str(tmp_path)).to_batches()
    next(batches)
    del batches  # closing a reader of Arrow's lets go of nothing before it is gone itself
    assert (open_files(tmp_path), list(tmp_path.iterdir())) == ([], [])
