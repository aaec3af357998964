import pytest

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.table.log_files import BlockFilter, scan_blocks
from hudi_pyspark.table.timeline import CommittedTimes
from tests.format.log.log_writer import write_block
from tests.reading.log_records.log_files import framed, rollback_block

ALL = BlockFilter("999", None)


def block(instant: str | None, content: str, *, folded: str = "", kind: str = "AVRO_DATA") -> bytes:
    """A block whose content nobody decodes; `folded` makes it one of a log compaction."""
    header: dict[HeaderKey | int, str] = {}
    if instant is not None:
        header[HeaderKey.INSTANT_TIME] = instant
    if folded:
        header[HeaderKey.COMPACTED_BLOCK_TIMES] = folded
    return write_block(LogBlockType[f"{kind}_BLOCK"], header, content.encode())


def contents(*files: bytes, block_filter: BlockFilter = ALL) -> list[str]:
    scan = scan_blocks(framed(*files), block_filter)
    return [bytes(found.content).decode() for found in scan.blocks]


def committed(*times: str, first: str = "") -> BlockFilter:
    return BlockFilter("999", CommittedTimes(frozenset(times), first))


def test_blocks_apply_file_by_file():
    assert contents(block("002", "a") + block("002", "b"), block("003", "c")) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["AVRO_DATA", "PARQUET_DATA", "HFILE_DATA", "DELETE"])
def test_every_kind_of_record_block_counts(kind):
    assert contents(block("002", "a", kind=kind)) == ["a"]


def test_blocks_of_an_instant_stand_where_it_first_appeared():
    files = block("002", "a") + block("003", "b") + block("002", "c")
    assert contents(files) == ["a", "c", "b"]


def test_empty_file_has_no_blocks():
    assert contents(b"", block("002", "a")) == ["a"]


def test_rollback_hides_earlier_blocks_of_its_target():
    assert contents(block("002", "a") + block("003", "b") + rollback_block("002")) == ["b"]


def test_rollback_hides_block_in_earlier_log_file():
    assert contents(block("002", "a"), rollback_block("002"), block("003", "b")) == ["b"]


def test_block_of_an_instant_that_is_used_again_after_its_rollback_survives():
    assert contents(block("002", "old") + rollback_block("002"), block("002", "new")) == ["new"]


def test_instant_used_again_takes_its_new_place():
    files = block("002", "old") + block("003", "b") + rollback_block("002") + block("002", "new")
    assert contents(files) == ["b", "new"]


def test_rollback_of_an_unknown_instant_hides_nothing():
    assert contents(block("002", "a") + rollback_block("001")) == ["a"]


def test_rollback_counts_even_if_its_own_instant_does_not():
    files = block("002", "a") + rollback_block("002", instant="005")
    assert contents(files, block_filter=committed("002")) == []
    assert contents(files, block_filter=BlockFilter("003", None)) == []


def test_rolled_back_instant_is_not_among_the_instants():
    scan = scan_blocks(framed(block("002", "a") + block("003", "b") + rollback_block("002")), ALL)
    assert scan.instants == {"003"}


def test_blocks_of_uncommitted_instants_are_skipped():
    files = block("002", "a") + block("003", "b") + block("004", "c")
    assert contents(files, block_filter=committed("002", "004")) == ["a", "c"]


def test_block_older_than_the_timeline_is_archived_and_counts():
    block_filter = committed("003", first="003")
    assert contents(block("002", "a") + block("004", "b"), block_filter=block_filter) == ["a"]


def test_instant_padded_with_milliseconds_is_the_one_without():
    files = block("20200101000000999", "a") + block("20200101000000998", "b")
    times = CommittedTimes(frozenset({"20200101000000"}), "")
    assert contents(files, block_filter=BlockFilter("3", times)) == ["a"]


def test_blocks_later_than_the_query_are_skipped_and_the_scan_goes_on():
    files = block("002", "a") + block("004", "late") + block("003", "b")
    assert contents(files, block_filter=BlockFilter("003", None)) == ["a", "b"]


def test_query_instant_is_inclusive_and_compared_as_text():
    files = block("20240101000000000", "a") + block("20240101000000", "b")
    assert contents(files, block_filter=BlockFilter("20240101000000", None)) == ["b"]


def test_log_compaction_replaces_what_it_was_made_of_in_the_place_of_the_newest():
    files = [block("002", "a"), block("003", "b"), block("004", "c")]
    folded = block("005", "ab", folded="003,002")
    assert contents(*files, folded) == ["ab", "c"]


def test_log_compaction_of_log_compactions_replaces_all_of_them():
    files = [
        block("002", "a"),
        block("003", "b"),
        block("004", "ab", folded="003,002"),
        block("005", "c"),
        block("006", "abc", folded="005,004"),
        block("007", "d"),
    ]
    assert contents(*files) == ["abc", "d"]


def test_only_the_first_block_of_an_instant_tells_a_log_compaction():
    folded = block("004", "1", folded="003,002") + block("004", "2")
    assert contents(block("002", "a"), block("003", "b"), folded) == ["1", "2"]


def test_folded_instants_are_among_the_instants():
    files = block("003", "b") + block("004", "ab", folded="003,002")
    assert scan_blocks(framed(files), ALL).instants == {"002", "003", "004"}


def test_log_compaction_that_is_not_committed_replaces_nothing():
    files = [block("002", "a"), block("003", "b"), block("004", "ab", folded="003,002")]
    assert contents(*files, block_filter=committed("002", "003")) == ["a", "b"]


def test_rolled_back_log_compaction_replaces_nothing():
    files = [block("002", "a"), block("003", "ab", folded="002"), rollback_block("003")]
    assert contents(*files) == ["a"]


def test_corrupt_blocks_are_skipped_and_told():
    torn = block("002", "torn")[:-5]
    scan = scan_blocks(framed(block("002", "a") + torn + block("003", "b"), torn), ALL)
    assert [bytes(found.content) for found in scan.blocks] == [b"a", b"b"]
    places = [(found.path, found.offset) for found in scan.corrupt_blocks]
    assert places == [("f1.log", len(block("002", "a"))), ("f2.log", 0)]


def test_cdc_block_is_refused():
    with pytest.raises(CorruptLogBlockError, match="a CDC_DATA_BLOCK cannot be in a log file"):
        contents(block("002", "a", kind="CDC_DATA"))


def test_block_without_instant_is_refused():
    with pytest.raises(
        CorruptLogBlockError, match=r"f1\.log at byte 0: the block names no instant"
    ):
        contents(block(None, "a"))
