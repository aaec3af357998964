"""Flips of a metadata table are good or seen, and the harness sees where a check is missing."""

import zlib
from collections import Counter

import pytest

from hudi_pyspark.format.hfile.block import Block
from verification.damaged_tables import NAMED, SAME
from verification.flipped_metadata import REFUSED, SAME_ENTRIES, Flips, jobs, run_job

CASE = "x_v6_cow_rg_cdc_flink"
STEP = 501
GZIP_HEADER = 10  # bytes, where it has no names


def outcomes() -> Counter[str]:
    return sum((run_job(*job) for job in jobs(CASE, STEP, 10 * STEP)), Counter())


def test_flips_give_the_same_entries_or_a_named_error():
    found = outcomes()
    assert {SAME_ENTRIES, REFUSED} <= set(found) <= {SAME_ENTRIES, REFUSED, SAME, NAMED}
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
    found = Counter(flips.outcome(path, place) for place in range(0, size, 17))
    assert set(found) - {SAME_ENTRIES, REFUSED, NAMED}, found


@pytest.mark.parametrize("path", ["hoodie.properties", ".hoodie/metadata/nothing"])
def test_files_that_no_query_reads_are_left_out(path):
    assert Flips(CASE).facts(path) is None
