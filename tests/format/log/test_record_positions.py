import base64
import struct

import numpy as np
import pytest

from hudi_pyspark.errors import CorruptLogBlockError
from hudi_pyspark.format.log.record_positions import decode_positions
from tests.format.log.native_writer import position_text


def decode(text: str):
    positions = decode_positions(text, 1 << 16, is_list=False, path="f.log", offset=7)
    assert positions is not None
    return positions.tolist()


def bitmap64(*buckets: tuple[int, bytes]) -> str:
    octets = struct.pack("<Q", len(buckets))
    octets += b"".join(struct.pack("<I", high) + bitmap for high, bitmap in buckets)
    return base64.b64encode(octets).decode()


def bitmap_container() -> bytes:
    """All even numbers below 65536: too many for an array container."""
    octets = struct.pack("<IIHHI", 12346, 1, 0, 32767, 16)
    return octets + b"\x55" * 8192


def four_containers_with_runs() -> bytes:
    """Runs in containers 0 and 3, arrays in 1 and 2; offsets stand only from four containers on."""
    octets = struct.pack("<HHB", 12347, 3, 0b1001)
    octets += struct.pack("<8H", 0, 4, 1, 0, 2, 1, 3, 1)  # high bits, number of values less 1
    octets += struct.pack("<4I", 0, 0, 0, 0)
    octets += struct.pack("<5H", 2, 5, 2, 100, 1)  # 5…7, 100…101
    octets += struct.pack("<H", 9) + struct.pack("<2H", 1, 65535)
    return octets + struct.pack("<3H", 1, 8, 1)  # 8…9


# The first two were made by Hudi's LogReaderUtils.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "AgAAAAAAAAAAAAAAOjAAAAIAAAAAAAIAAQAAABgAAAAeAAAAAAABAAUAcBEBAAAAOjAAAAEAAAAFKgAAEAAAAADy",
            [0, 1, 5, 70000, 5000000000],
            id="arrays-in-two-buckets",
        ),
        pytest.param("AQAAAAAAAAAAAAAAOzAAAAEAAGMAAQAAAGMA", list(range(100)), id="one-run"),
        pytest.param(bitmap64((0, bitmap_container())), list(range(0, 65536, 2)), id="bitmap"),
        pytest.param(
            bitmap64((0, four_containers_with_runs())),
            [5, 6, 7, 100, 101, 65545, 131073, 196607, 196616, 196617],
            id="runs-and-arrays",
        ),
        pytest.param(bitmap64(), [], id="no-positions"),
        pytest.param("", [], id="empty-text"),
    ],
)
def test_positions_are_decoded_in_ascending_order(text, expected):
    assert decode(text) == expected


def test_positions_are_int64():
    positions = decode_positions("", 0, is_list=False, path="f.log", offset=0)
    assert positions is not None
    assert positions.dtype == np.int64


def test_more_positions_than_records_are_none():
    text = bitmap64((0, bitmap_container()), (1, four_containers_with_runs()))
    counts = {
        most: decode_positions(text, most, is_list=False, path="f.log", offset=0)
        for most in (32777, 32778)
    }
    assert counts[32777] is None
    assert counts[32778] is not None


def test_runs_that_claim_billions_take_no_memory():
    count = 65536
    octets = struct.pack("<HH", 12347, count - 1) + b"\xff" * (count // 8)
    octets += b"".join(struct.pack("<HH", high, 65535) for high in range(count)) + bytes(4 * count)
    octets += struct.pack("<HHH", 1, 0, 65535) * count
    assert (
        decode_positions(bitmap64((0, octets)), 1 << 20, is_list=False, path="f.log", offset=0)
        is None
    )


ONE = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, 5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("%%%", "record positions cannot be decoded", id="not-base64"),
        pytest.param("AQAA", "expected 8 bytes at 0 of 3", id="cut"),
        pytest.param(
            bitmap64((0, b"\1\0\0\0")), "expected cookie 12346 or 12347, found 1", id="cookie"
        ),
        pytest.param(bitmap64((0, ONE + b"x")), "1 bytes remain", id="left-over"),
        pytest.param(bitmap64((0, ONE), (0, ONE)), "values do not ascend", id="not-ascending"),
        pytest.param(
            bitmap64((0, struct.pack("<II", 12346, 65537))),
            "expected at most 65536 containers, found 65537",
            id="containers",
        ),
        pytest.param(
            bitmap64((0, struct.pack("<HHBHHHHH", 12347, 0, 1, 0, 5, 1, 0, 1))),
            "expected 6 values in a container, found 2",
            id="run-of-other-size",
        ),
        pytest.param(bitmap64((0xFFFFFFFF, ONE)), "record positions", id="beyond-63-bits"),
    ],
)
def test_text_that_is_no_bitmap_is_refused(text, problem):
    with pytest.raises(CorruptLogBlockError, match=rf"f\.log at byte 7: .*{problem}"):
        decode(text)


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        pytest.param("AAAAAgYC", [6, 2], id="written-by-hudi"),
        pytest.param("AAAAAA==", [], id="none"),
        *(
            pytest.param(position_text(numbers), numbers, id=f"{len(numbers)}-numbers")
            for numbers in (
                [0, 127, 128, 16383, 16384, 2**62, 2**63 - 1],
                list(range(300, 0, -1)),
            )
        ),
    ],
)
def test_positions_of_native_log_keep_their_order(text, positions):
    decoded = decode_positions(text, 1000, is_list=True, path="f", offset=0)
    assert decoded is not None
    assert decoded.tolist() == positions


def test_a_million_positions_are_decoded():
    numbers = np.random.default_rng(1).permutation(1_000_000)
    decoded = decode_positions(
        position_text(numbers.tolist()), 1_000_000, is_list=True, path="f", offset=0
    )
    assert decoded is not None
    assert (decoded == numbers).all()


def test_more_positions_than_records_are_of_no_use():
    assert decode_positions(position_text([1, 2, 3]), 2, is_list=True, path="f", offset=0) is None


@pytest.mark.parametrize(
    ("octets", "problem"),
    [
        (b"\0\0", "expected 4 bytes"),
        (b"\0\0\0\1", "expected 1 numbers in 0 bytes, found 0"),
        (b"\0\0\0\1\5\6", "expected 1 numbers in 2 bytes, found 2"),
        (b"\0\0\0\1\5\x86", "expected 1 numbers"),
        (b"\0\0\0\0\x86", "expected 0 numbers"),
        (b"\xff\xff\xff\xff", "expected -1 numbers"),
        (b"\0\0\0\1" + b"\x80" * 9 + b"\1", "a number of 10 bytes"),
    ],
)
def test_damaged_position_list_is_refused(octets, problem):
    with pytest.raises(CorruptLogBlockError, match=problem):
        decode_positions(base64.b64encode(octets).decode(), 9, is_list=True, path="f", offset=0)
