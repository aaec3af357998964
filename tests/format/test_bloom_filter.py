import base64
import io
import struct
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hudi_pyspark.format.bloom_filter import BloomFilter, BloomFilterError

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
HEADER = struct.pack(">iibi", -1, 3, 1, 16)


def footers():
    """Kind, text and record keys of every base file in the golden tables that has a filter."""
    for archive in sorted(GOLDEN.glob("*/table.zip")):
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                if name.endswith(".parquet") and "/.hoodie/" not in name:
                    content = files.read(name)
                    if content[:4] == b"PAR1" == content[-4:]:
                        yield from _footer(pq.ParquetFile(io.BytesIO(content)))


def _footer(file):
    footer = file.metadata.metadata or {}
    if b"org.apache.hudi.bloomfilter" in footer and "_hoodie_record_key" in file.schema_arrow.names:
        keys = [k for k in file.read(["_hoodie_record_key"])[0].to_pylist() if k is not None]
        kind = footer.get(b"hoodie_bloom_filter_type_code", b"SIMPLE").decode()
        yield kind, footer[b"org.apache.hudi.bloomfilter"].decode(), keys


def test_filters_of_apache_hudi_contain_their_keys_and_hardly_any_other():
    kinds, lengths = set(), set()
    for kind, text, keys in footers():
        bloom = BloomFilter.parse(text, kind)
        assert bloom.may_contain(keys).all()
        assert not bloom.may_contain([f"{key}?" for key in keys]).any()
        kinds.add(kind)
        lengths |= {len(key) % 4 for key in keys}
    assert kinds == {"SIMPLE", "DYNAMIC_V0"}
    assert lengths == {0, 1, 2, 3}  # bytes behind the last whole word are hashed in their own way


def test_key_that_is_not_ascii_is_never_ruled_out():
    bloom = BloomFilter.parse(base64.b64encode(HEADER + bytes(2)).decode(), "SIMPLE")
    assert bloom.may_contain(["é", "e"]).tolist() == [True, False]


def test_very_long_key_is_never_ruled_out():
    """To hash 70,000 bytes for each of many files takes minutes."""
    bloom = BloomFilter.parse(base64.b64encode(HEADER + bytes(2)).decode(), "SIMPLE")
    assert bloom.may_contain(["k" * 4096, "k" * 4097, "k"]).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "SIMPLE"),
        (HEADER, "SIMPLE"),
        (HEADER + bytes(2), "OTHER"),
        (struct.pack(">iibi", -2, 3, 1, 16) + bytes(2), "SIMPLE"),
        (struct.pack(">iibi", -1, 3, 0, 16) + bytes(2), "SIMPLE"),
        (HEADER + struct.pack(">iii", 1, 1, 2) + HEADER + bytes(2), "DYNAMIC_V0"),
    ],
    ids=["empty", "cut", "unknown-kind", "version", "hash", "cut-dynamic"],
)
def test_filter_of_another_form_is_refused(data, kind):
    with pytest.raises(BloomFilterError):
        BloomFilter.parse(base64.b64encode(data).decode(), kind)


def test_text_that_is_no_base64_is_refused():
    with pytest.raises(BloomFilterError):
        BloomFilter.parse("§", "SIMPLE")


def test_more_hashes_than_any_filter_has_are_refused():
    data = struct.pack(">iibi", -1, 257, 1, 64) + bytes(8)
    with pytest.raises(BloomFilterError, match="257 hashes"):
        BloomFilter.parse(base64.b64encode(data).decode(), "SIMPLE")
