from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType, frame_blocks
from tests.format.log.log_writer import MAGIC, write_block

pytestmark = pytest.mark.property

DATA_TYPES = [
    LogBlockType.DELETE_BLOCK,
    LogBlockType.AVRO_DATA_BLOCK,
    LogBlockType.HFILE_DATA_BLOCK,
    LogBlockType.PARQUET_DATA_BLOCK,
    LogBlockType.CDC_DATA_BLOCK,
]
# A magic within a content would rightly end a corrupt block early.
contents = st.binary(max_size=60).filter(lambda content: MAGIC not in content)
headers = st.dictionaries(st.sampled_from(HeaderKey), st.text(max_size=12), max_size=4)
parts = st.tuples(st.sampled_from(DATA_TYPES), headers, contents)
logs = st.lists(parts, max_size=5)


def frame(data: bytes) -> list[LogBlock]:
    return list(frame_blocks(data, path="f.log"))


def parts_of(blocks: list[LogBlock]):
    return [(block.block_type, dict(block.header), bytes(block.content)) for block in blocks]


@given(logs)
def test_framing_inverts_writing(log):
    blocks = frame(b"".join(write_block(*part) for part in log))
    assert parts_of(blocks) == log


@given(logs)
def test_blocks_cover_the_file_without_gaps(log):
    written = [write_block(*part) for part in log]
    blocks = frame(b"".join(written))
    assert [block.size for block in blocks] == [len(block) for block in written]
    assert [block.offset for block in blocks] == [0, *accumulate(map(len, written))][:-1]


@given(logs, st.data())
def test_cut_log_file_gives_a_prefix_of_its_blocks_and_then_a_corrupt_block(log, data):
    written = [write_block(*part) for part in log]
    whole_file = b"".join(written)
    cut = data.draw(st.integers(0, len(whole_file)))
    ends = [0, *accumulate(map(len, written))]
    whole = max(count for count, end in enumerate(ends) if end <= cut)
    rest = whole_file[ends[whole] : cut]

    blocks = frame(whole_file[:cut])

    assert parts_of(blocks[:whole]) == log[:whole]
    if len(rest) < len(MAGIC):  # nothing, or less than a magic: ignored
        assert len(blocks) == whole
    else:
        (corrupt,) = blocks[whole:]
        assert parts_of([corrupt]) == [(LogBlockType.CORRUPT_BLOCK, {}, rest[len(MAGIC) :])]
        assert (corrupt.offset, corrupt.size) == (ends[whole], len(rest))


@given(parts, parts, st.data())
def test_block_appended_after_a_cut_one_is_kept(cut_part, part, data):
    cut_block = write_block(*cut_part)
    cut = data.draw(st.integers(len(MAGIC), len(cut_block) - 1))
    blocks = frame(cut_block[:cut] + write_block(*part))
    assert parts_of(blocks) == [
        (LogBlockType.CORRUPT_BLOCK, {}, cut_block[len(MAGIC) : cut]),
        part,
    ]


@given(parts, st.integers(1, 30))
def test_log_file_that_does_not_start_with_the_magic_is_refused(part, missing):
    with pytest.raises(CorruptLogBlockError, match=r"at byte 0: expected magic"):
        frame(write_block(*part)[missing:])
