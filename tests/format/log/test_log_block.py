import struct
from pathlib import Path

import pytest

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType, frame_blocks
from tests.format.log.log_writer import MAGIC, enclose, write_block

LOGS = Path(__file__).parents[2] / "golden" / "logs"
PATH = "ds=1/.f1-0_20250316025816068.log.1_0-1-0"

AVRO = write_block(LogBlockType.AVRO_DATA_BLOCK, {HeaderKey.INSTANT_TIME: "001"}, b"first")
DELETE = write_block(LogBlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: "002"}, b"second")


def frame(data: bytes) -> list[LogBlock]:
    return list(frame_blocks(data, path=PATH))


def shapes(data: bytes) -> list[tuple[str, bytes]]:
    return [(block.block_type.name, bytes(block.content)) for block in frame(data)]


def golden(name: str) -> list[LogBlock]:
    return list(frame_blocks((LOGS / name).read_bytes(), path=name))


def test_blocks_of_a_real_log_file_come_in_file_order():
    blocks = golden("v6_mor_appended_logs.log")
    assert [(block.block_type.name, block.offset, block.size) for block in blocks] == [
        ("AVRO_DATA_BLOCK", 0, 1189),
        ("AVRO_DATA_BLOCK", 1189, 1058),
        ("COMMAND_BLOCK", 2247, 105),
    ]
    assert [block.instant_time for block in blocks] == [
        "20261121072141635",
        "20261121072146239",
        "20261121072147961",
    ]


def test_rollback_names_the_instant_it_undoes():
    *_, rollback = golden("v6_mor_appended_logs.log")
    assert rollback.header == {
        HeaderKey.INSTANT_TIME: "20261121072147961",
        HeaderKey.TARGET_INSTANT_TIME: "20261121072146239",
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
    }
    assert rollback.target_instant_time == "20261121072146239"
    assert bytes(rollback.content) == b""


def test_unfinished_block_of_a_real_log_file_is_corrupt():
    whole, corrupt = golden("v6_mor_corrupt_log_block.log")
    assert (whole.block_type, whole.size) == (LogBlockType.AVRO_DATA_BLOCK, 1189)
    assert (corrupt.block_type, corrupt.offset, corrupt.size) == (
        LogBlockType.CORRUPT_BLOCK,
        1189,
        14,
    )
    assert (corrupt.header, corrupt.instant_time) == ({}, None)


def test_record_positions_and_the_instant_of_their_base_file_are_properties():
    avro, _ = golden("v9_mor_payload_mysql_debezium.log")
    assert avro.record_positions_text == "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAQAEAA=="
    assert avro.positions_base_instant == "20261121063146940"
    assert avro.schema_text is not None
    assert avro.schema_text.startswith('{"type":"record"')


def test_versions_of_the_frame_and_of_the_content():
    kinds = LogBlockType
    content = struct.pack(">ii", 3, 0)
    cases = [
        (kinds.AVRO_DATA_BLOCK, content, 3),
        (kinds.CDC_DATA_BLOCK, content, 3),
        (kinds.DELETE_BLOCK, struct.pack(">ii", 2, 0), 2),
        (kinds.DELETE_BLOCK, b"\0\0", None),
        (kinds.PARQUET_DATA_BLOCK, content, None),
        (kinds.HFILE_DATA_BLOCK, content, None),
        (kinds.COMMAND_BLOCK, b"", None),
    ]
    command: dict[HeaderKey | int, str] = {HeaderKey.COMMAND_BLOCK_TYPE: "0"}
    blocks = frame(b"".join(write_block(kind, command, body) for kind, body, _ in cases))
    assert [block.log_format_version for block in blocks] == [1] * len(cases)
    assert [block.block_version for block in blocks] == [version for _, _, version in cases]


def test_corrupt_block_has_no_versions():
    (corrupt,) = frame(AVRO[:-3])
    assert (corrupt.log_format_version, corrupt.block_version) == (None, None)


def test_content_is_a_view_at_its_offset_in_the_file():
    data = AVRO + DELETE
    block = frame(data)[1]
    assert block.content.obj is data
    assert data[block.content_offset :].startswith(b"second")


def test_log_file_may_be_a_memoryview():
    assert list(frame_blocks(memoryview(AVRO), path=PATH)) == frame(AVRO)


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        pytest.param("true", True, id="true"),
        pytest.param("TRUE", True, id="in-capitals"),
        pytest.param("false", False, id="false"),
        pytest.param(None, False, id="absent"),
    ],
)
def test_partial_flag_is_a_boolean_text(text, partial):
    header: dict[HeaderKey | int, str] = {} if text is None else {HeaderKey.IS_PARTIAL: text}
    (block,) = frame(write_block(LogBlockType.AVRO_DATA_BLOCK, header))
    assert block.is_partial is partial


@pytest.mark.parametrize(
    ("header", "times"),
    [
        pytest.param(
            {HeaderKey.COMPACTED_BLOCK_TIMES: "003,002,001"}, ("003", "002", "001"), id="three"
        ),
        pytest.param({HeaderKey.COMPACTED_BLOCK_TIMES: "001"}, ("001",), id="one"),
        pytest.param({}, (), id="no-log-compaction"),
    ],
)
def test_compacted_block_times_keep_their_order(header, times):
    (block,) = frame(write_block(LogBlockType.AVRO_DATA_BLOCK, header))
    assert block.compacted_block_times == times


def test_unknown_header_keys_are_ignored():
    data = write_block(LogBlockType.AVRO_DATA_BLOCK, {99: "new", HeaderKey.INSTANT_TIME: "001"})
    assert frame(data)[0].header == {HeaderKey.INSTANT_TIME: "001"}


FIRST, SECOND = ("AVRO_DATA_BLOCK", b"first"), ("DELETE_BLOCK", b"second")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="empty-file"),
        pytest.param(AVRO + DELETE, [FIRST, SECOND], id="two-blocks"),
        pytest.param(
            AVRO + DELETE[:30],
            [FIRST, ("CORRUPT_BLOCK", DELETE[6:30])],
            id="truncated-last-block-ends-with-the-file",
        ),
        pytest.param(
            AVRO[:30] + DELETE,
            [("CORRUPT_BLOCK", AVRO[6:30]), SECOND],
            id="truncated-block-ends-at-the-next-magic",
        ),
        pytest.param(AVRO + MAGIC, [FIRST, ("CORRUPT_BLOCK", b"")], id="magic-alone"),
        pytest.param(AVRO + b"stray", [FIRST], id="five-stray-bytes-are-ignored"),
        pytest.param(
            AVRO + DELETE + b"foreign",
            [FIRST, ("CORRUPT_BLOCK", DELETE[6:] + b"foreign")],
            id="whole-block-before-six-stray-bytes-is-corrupt",
        ),
        pytest.param(
            AVRO[:-1] + b"\0" + DELETE,
            [("CORRUPT_BLOCK", AVRO[6:-1] + b"\0"), SECOND],
            id="trailing-length-that-disagrees",
        ),
        pytest.param(
            MAGIC + struct.pack(">q", 0x7FFFFFFF) + AVRO[14:],
            [("CORRUPT_BLOCK", struct.pack(">q", 0x7FFFFFFF) + AVRO[14:])],
            id="size-past-the-end",
        ),
        pytest.param(
            MAGIC + struct.pack(">q", -1000) + AVRO[14:],
            [("CORRUPT_BLOCK", struct.pack(">q", -1000) + AVRO[14:])],
            id="negative-size",
        ),
        pytest.param(
            MAGIC + MAGIC + AVRO,
            [("CORRUPT_BLOCK", b""), ("CORRUPT_BLOCK", b""), FIRST],
            id="several-magics-in-a-row",
        ),
    ],
)
def test_bytes_that_are_no_whole_block_come_as_a_corrupt_block(data, expected):
    assert shapes(data) == expected


def with_header_value_length(length: int) -> bytes:
    header = struct.pack(">iii", 1, HeaderKey.INSTANT_TIME.value, length) + b"001"
    return enclose(struct.pack(">ii", 1, 3) + header + struct.pack(">qi", 0, 0))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            b"PAR1 is no log file",
            r"at byte 0: expected magic b'#HUDI#', found b'PAR1 i'",
            id="no-magic",
        ),
        pytest.param(
            write_block(LogBlockType.AVRO_DATA_BLOCK, {}, version=0),
            "at byte 0: expected log format version 1, found 0",
            id="version-0",
        ),
        pytest.param(
            write_block(LogBlockType.AVRO_DATA_BLOCK, {}, version=2),
            "expected log format version 1, found 2",
            id="version-2",
        ),
        pytest.param(
            AVRO + write_block(7, {}),
            rf"at byte {len(AVRO)}: expected a block type of 0 COMMAND_BLOCK, .*; found 7",
            id="unknown-block-type",
        ),
        pytest.param(
            write_block(2, {}), "expected a block type of .*; found 2", id="written-corrupt-block"
        ),
        pytest.param(
            write_block(LogBlockType.COMMAND_BLOCK, {HeaderKey.COMMAND_BLOCK_TYPE: "1"}),
            r"expected command '0' \(rollback\), found '1'",
            id="unknown-command",
        ),
        pytest.param(
            write_block(LogBlockType.COMMAND_BLOCK, {}),
            r"expected command '0' \(rollback\), found None",
            id="no-command",
        ),
        pytest.param(
            with_header_value_length(1000),
            "at byte 34: header value of 1000 bytes does not fit into its block",
            id="header-past-the-block",
        ),
        pytest.param(
            with_header_value_length(-1), "header value of -1 bytes", id="negative-length"
        ),
        pytest.param(with_header_value_length(2), "does not fit|left over", id="header-too-short"),
        pytest.param(
            enclose(struct.pack(">iii", 1, 3, -5) + bytes(12)),
            "at byte 22: expected a header entry count of 0 or more, found -5",
            id="negative-header-count",
        ),
        pytest.param(
            enclose(struct.pack(">iiiqi", 1, 3, 0, 0, 0) + b"more"),
            "4 bytes remain after the block's footer",
            id="bytes-after-the-footer",
        ),
        pytest.param(
            enclose(struct.pack(">iiiqi", 1, 3, 0, 1000, 0)),
            "content of 1000 bytes does not fit",
            id="content-past-the-block",
        ),
        pytest.param(enclose(b""), "format version of 4 bytes does not fit", id="no-fields"),
        pytest.param(
            write_block(LogBlockType.AVRO_DATA_BLOCK, {HeaderKey.INSTANT_TIME: "é"}).replace(
                "é".encode(), b"\xff\xff"
            ),
            "header value of key 0 is not UTF-8",
            id="header-not-utf-8",
        ),
    ],
)
def test_block_that_cannot_be_framed_is_refused(data, problem):
    with pytest.raises(CorruptLogBlockError, match=problem) as caught:
        frame(data)
    assert caught.value.path == PATH


def test_blocks_before_a_bad_one_are_given_first():
    blocks = frame_blocks(AVRO + write_block(7, {}), path=PATH)
    assert next(blocks).instant_time == "001"
    with pytest.raises(CorruptLogBlockError, match="block type"):
        next(blocks)
