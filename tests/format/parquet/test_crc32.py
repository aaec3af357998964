import zlib

from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.format.parquet.page_values import crc32_without_prefix


@given(st.binary(max_size=50), st.binary(max_size=500), st.integers(0, 5_000))
def test_rest_has_its_own_checksum(prefix, rest, zeros):
    rest += bytes(zeros)
    assert crc32_without_prefix(zlib.crc32(prefix + rest), prefix, len(rest)) == zlib.crc32(rest)


def test_another_prefix_gives_another_checksum():
    assert crc32_without_prefix(zlib.crc32(b"ab"), b"c", 1) != zlib.crc32(b"b")
