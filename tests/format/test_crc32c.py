import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.format.crc32c import crc32c


def bit_by_bit(data: bytes) -> int:
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"123456789", 0xE3069283, id="check-value"),
        # RFC 3720, appendix B.4
        pytest.param(bytes(32), 0x8A9136AA, id="zeros"),
        pytest.param(b"\xff" * 32, 0x62A8AB43, id="ones"),
        pytest.param(bytes(range(32)), 0x46DD794E, id="ascending"),
    ],
)
def test_known_values(data, expected):
    assert crc32c(data) == expected


@pytest.mark.parametrize("size", [0, 1, 3, 4, 127, 128, 129, 16383, 16384, 16385, 16387, 40000])
def test_sizes_around_rows_and_tables_agree_with_a_loop_over_bits(size):
    data = (b"The quick brown fox." * 2000)[:size]
    assert crc32c(data) == bit_by_bit(data)


@given(st.binary(max_size=600))
def test_any_bytes_agree_with_a_loop_over_bits(data):
    assert crc32c(memoryview(data)) == bit_by_bit(data)
