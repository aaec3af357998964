"""How log records find their base rows, by the headers of their blocks."""

import pytest

from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.reading.merge_sides import load_merge_sides
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import BASE_INSTANT, KEY, data_block, delete_block
from tests.reading.slices_in_memory import (
    AVRO,
    BASE_PATH,
    FILES,
    LOG_PATHS,
    base_content,
    log_file,
    rows,
    task,
)

ROW = {KEY: "a", "ts": 1, "v": "log", "p": "sf"}
WITH_POSITIONS = data_block(AVRO, [ROW], positions=[0])
WITH_KEYS = delete_block([("b", None)])
OF_ANOTHER_FILE = data_block(AVRO, [ROW], positions=[0], positions_base="000")
NAMES_FILE_ONLY = data_block(
    AVRO, [ROW], more={HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: BASE_INSTANT}
)


def sides_of(*blocks, **options):
    """Both sides of the merge of a slice with these blocks, for a query that needs no key."""
    content = b"".join(blocks)
    logs = (log_file(LOG_PATHS[0], "002", size=len(content), committed_size=len(content)),)
    files = MemoryStorage({BASE_PATH: FILES[BASE_PATH], LOG_PATHS[0]: content})
    return load_merge_sides(task(version=9, columns=("v",), logs=logs, **options), files)


@pytest.mark.parametrize(
    ("blocks", "by_position"),
    [
        pytest.param([], False, id="no-block"),
        pytest.param([WITH_KEYS], False, id="keys"),
        pytest.param([WITH_POSITIONS, WITH_POSITIONS], True, id="positions"),
        pytest.param([WITH_POSITIONS, WITH_KEYS], False, id="both"),
        pytest.param([OF_ANOTHER_FILE], False, id="positions-in-another-file"),
        pytest.param([NAMES_FILE_ONLY], False, id="file-without-positions"),
    ],
)
def test_headers_of_blocks_say_what_identifies_base_rows(blocks, by_position):
    sides = sides_of(*blocks)
    assert sides.log.by_position is by_position
    for table in sides.base:
        assert (KEY in table.schema.names) is not by_position


def test_keys_identify_base_rows_without_a_base_file_or_if_positions_are_not_wanted():
    assert not sides_of(WITH_POSITIONS, base=None).log.by_position
    assert not sides_of(WITH_POSITIONS, use_record_positions=False).log.by_position


@pytest.mark.parametrize(
    ("positions", "has_keys"),
    [
        pytest.param([1], False, id="one-of-each-record"),
        pytest.param([0, 1], True, id="more-than-records"),
    ],
)
def test_keys_are_read_only_if_a_record_has_no_position(positions, has_keys):
    sides = sides_of(data_block(AVRO, [ROW], positions=positions))
    for table in sides.base:
        assert (KEY in table.schema.names) is has_keys
    assert sides.log.by_position is not has_keys


def test_position_finds_the_right_one_of_two_rows_with_the_requested_key():
    base = base_content(
        [{**ROW, KEY: key, "v": v} for key, v in [("b", "0"), ("a", "1"), ("a", "2")]]
    )
    block = data_block(AVRO, [ROW], positions=[2])
    logs = (log_file(LOG_PATHS[0], "002", size=len(block), committed_size=len(block)),)
    by_key = task(version=9, logs=logs).with_plan(record_keys=("a",))
    found = rows(by_key, {BASE_PATH: base, LOG_PATHS[0]: block})
    assert [row for row in found if row[0] == "a"] == [("a", "1"), ("a", "log")]


def test_all_rows_are_read_if_one_block_has_positions_of_a_requested_key_that_occurs_twice():
    base = base_content(
        [{**ROW, KEY: key, "v": v} for key, v in [("b", "0"), ("a", "1"), ("a", "2")]]
    )
    content = data_block(AVRO, [ROW], positions=[2]) + delete_block([("c", None)])
    logs = (log_file(LOG_PATHS[0], "002", size=len(content), committed_size=len(content)),)
    by_key = task(version=9, logs=logs).with_plan(record_keys=("a",))
    assert ("b", "0") in rows(by_key, {BASE_PATH: base, LOG_PATHS[0]: content})


def test_keys_count_if_only_rows_with_requested_keys_are_read():
    base = base_content([{**ROW, KEY: key, "v": key} for key in ("b", "a")])
    block = data_block(AVRO, [ROW], positions=[1])
    logs = (log_file(LOG_PATHS[0], "002", size=len(block), committed_size=len(block)),)
    by_key = task(version=9, logs=logs).with_plan(record_keys=("a",))
    found = rows(by_key, {BASE_PATH: base, LOG_PATHS[0]: block})
    assert [row for row in found if row[0] == "a"] == [("a", "log")]
