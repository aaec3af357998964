"""Flips of a metadata table are good or seen, and the harness sees where a check is missing."""

import zlib
from collections import Counter

import pytest

from hudi_pyspark.format.hfile.blocks import Block
from verification.common.archives import files_of
from verification.damage.damages import Damage
from verification.damage.entries import SAME_ENTRIES, WARNED, Flips, flip_damages_of, outcome_of
from verification.damage.tables import NAMED, SAME, read

CASE = "x_v6_cow_rg_cdc_flink"
STEP = 501
RECORD_INDEX = "x_v9_mor_pv_stays_record"
LOG = ".hoodie/metadata/record_index/.record-index-0005-0_20261122002047482.log.1_6-440-1790"
GZIP_HEADER = 10  # bytes, where it has no names


def outcomes() -> Counter[str]:
    damages = flip_damages_of(CASE, (STEP, STEP, 10 * STEP))
    return Counter(outcome_of(CASE, damage).verdict for damage in damages)


def test_flips_give_the_same_entries_or_a_named_error():
    found = outcomes()
    assert {SAME_ENTRIES, NAMED} <= set(found) <= {SAME_ENTRIES, NAMED, SAME, WARNED}
    assert found.total() > 60


def test_missing_check_is_seen(monkeypatch):
    """The stream of a compressed block has a checksum, without which other entries are believed."""

    def inflate_unchecked(block, stored, size):
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(stored[GZIP_HEADER:], size)
        except zlib.error as error:
            raise block.corrupt("no stream") from error

    monkeypatch.setattr(Block, "_inflate", inflate_unchecked)
    flips = Flips(CASE)
    path = next(p for p in flips.files if p.endswith(".hfile") and flips.facts(p) is not None)
    size = len(flips.files[path])
    damages = [Damage("flip", path, place) for place in range(0, size, 17)]
    found = Counter(flips.outcome(damage)[0] for damage in damages)
    assert set(found) - {SAME_ENTRIES, NAMED, WARNED}, found


@pytest.mark.parametrize("path", ["hoodie.properties", ".hoodie/metadata/nothing"])
def test_files_that_no_query_reads_are_left_out(path):
    assert Flips(CASE).facts(path) is None


def place_in_instant() -> int:
    """The last digit but one of the instant in the header of the only block."""
    return files_of(RECORD_INDEX)[LOG].index(b"20261122002047482") + 15


def test_instant_of_a_block_of_the_record_index_loses_no_row(caplog):
    """Apache Hudi reads one row of this key, which only that block of the index has."""
    damage = Damage("flip", LOG, place_in_instant())
    damaged = damage.of(files_of(RECORD_INDEX))
    assert read(damaged, ["_hoodie_record_key = 'k20'"]).num_rows == 1
    assert "no block is of commit 20261122002047482" in caplog.text
    assert Flips(RECORD_INDEX).outcome(damage) == (NAMED, "")
