"""A committed Avro log file of which one byte is flipped: what Apache Hudi 1.2.0 does is known.

Each eighth byte of 1,125 was flipped (xor 0xff), and the table was read by Apache Hudi: it fails on
most flips, whether the block cannot be parsed or its schema, and it replaces what is not UTF-8.
"""

import logging
import shutil

import pytest

from hudi_pyspark import CorruptLogBlockError, HudiTable
from tests.sampling import SAMPLED, sample

LOG = "amer/.5d0e3bcf-3459-4a42-821c-53f9c33c1671-0_20261121062605204.log.1_1-115-265"
ROWS = 47
# Apache Hudi reads all rows: the text that is not UTF-8 is in a namespace or a comment, or in a
# header that no read needs. The first and the last are bytes that nobody looks at.
TEXTS = (48, 64, 72, 136, 144, 152, 160, 168, 240, 336, 400, 496, 576, 624, 680, 744, 792, 848, 904)
UNSEEN = (8, 1112)
LOST = (40, 1120)  # it skips the block: its instant is not committed; its end is damaged
# It shows a text of a record with replaced characters, or takes a negative count for 0. Refused.
RECORDS = (976, 992, 1000, 1008, 1016, 1024, 1032, 1048, 1056, 1064, 1072)
POSITIONS = (928, 936, 944, 952, 960)  # of records: needed unless use_record_positions is false
GARBLED = (1096,)  # a value that nothing contradicts


def expected(place):
    if place in {*TEXTS, *UNSEEN, *GARBLED}:
        return ROWS
    return ROWS - 1 if place in LOST else "refused"


@pytest.fixture
def table(practice_table):
    return practice_table("damaged_log/orders")


def flip(table, place):
    content = bytearray((table / LOG).read_bytes())
    content[place] ^= 0xFF
    (table / LOG).write_bytes(content)


def read(table, on_damage):
    scan = HudiTable(table).scan(on_damage=on_damage, use_metadata_table=False)
    try:
        return scan.to_arrow().num_rows, ""
    except CorruptLogBlockError as error:
        return "refused", str(error)


@SAMPLED
def test_on_damage_reads_what_apache_hudi_reads(table, tmp_path, is_whole):
    places = range(0, (table / LOG).stat().st_size, 8)
    for place in places if is_whole else sample(places, "orders", 12):
        damaged = tmp_path / str(place)
        shutil.copytree(table, damaged)
        flip(damaged, place)
        rows, without_option = read(damaged, "ignore")
        assert (place, rows) == (place, expected(place))
        assert rows != "refused" or "read the base files alone" in without_option
        found, error = read(damaged, "fail")
        assert (place, found) == (place, ROWS if place in {*UNSEEN, *GARBLED} else "refused")
        assert ("on_damage=warn" in error) == (place in {*TEXTS, *LOST, *POSITIONS})


@pytest.mark.parametrize("place", [TEXTS[0], *LOST])
def test_warning_names_file_and_block(table, place, caplog):
    caplog.set_level(logging.WARNING)
    flip(table, place)
    assert read(table, "warn")[0] == expected(place)
    assert any(LOG in message and "at byte" in message for message in caplog.messages)
