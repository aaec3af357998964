import pytest

from hudi_pyspark.format.data_files import (
    BaseFileName,
    LogFileName,
    LogKind,
    is_log_file_name,
    is_partition_marker,
    parse_data_file_name,
)
from tests.data_file_names import name_of

UUID = "f6340494-0c2a-4f2e-9d39-6a4bd1e7598d"
T = "20261121062721394"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            f"{UUID}-0_0-790-1304_{T}.parquet",
            BaseFileName(f"{UUID}-0", "0-790-1304", T, "parquet"),
            id="spark",
        ),
        pytest.param(
            f"{UUID}_1-2-0_{T}.parquet",
            BaseFileName(UUID, "1-2-0", T, "parquet"),
            id="flink-and-bootstrap",
        ),
        pytest.param(
            "files-0000-0_0-287-674_00000000000000000.hfile",
            BaseFileName("files-0000-0", "0-287-674", "00000000000000000", "hfile"),
            id="metadata-table",
        ),
        pytest.param(
            f"{UUID}-0_0-2031-2666_{T}.orc",
            BaseFileName(f"{UUID}-0", "0-2031-2666", T, "orc"),
            id="orc",
        ),
        pytest.param(
            "a_1_001.parquet.gz", BaseFileName("a", "1", "001", "parquet.gz"), id="two-extensions"
        ),
        pytest.param(
            "data.parquet_20240101000000_hudiext",
            BaseFileName("data.parquet", None, "20240101000000", "parquet"),
            id="external",
        ),
        pytest.param(
            "file_1.parquet_20240101000000_hudiext",
            BaseFileName("file_1.parquet", None, "20240101000000", "parquet"),
            id="external-with-underscore",
        ),
        pytest.param(
            "a_0_1.parquet_2_hudiext",
            BaseFileName("a_0_1.parquet", None, "2", "parquet"),
            id="external-named-like-a-base-file",
        ),
        pytest.param(
            "part-0_20240101000000_hudiext",
            BaseFileName("part-0", None, "20240101000000", ""),
            id="external-without-extension",
        ),
        pytest.param(
            "data.parquet_20240101000000_fg%3Dbucket-0%2Fb%3D1_hudiext",
            BaseFileName("bucket-0/b=1/data.parquet", None, "20240101000000", "parquet"),
            id="external-in-folder",
        ),
    ],
)
def test_base_file_name_is_read_and_written(name, expected):
    assert BaseFileName.parse(name) == expected
    assert name_of(expected) == name
    assert parse_data_file_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            f".{UUID}-0_{T}.log.2_0-2376-3597",
            LogFileName(f"{UUID}-0", T, 2, "0-2376-3597"),
            id="spark",
        ),
        pytest.param(f".{UUID}_{T}.log.1", LogFileName(UUID, T, 1), id="no-write-token"),
        pytest.param(
            f".{UUID}-0_{T}.log.1_0-4869-6694.cdc",
            LogFileName(f"{UUID}-0", T, 1, "0-4869-6694", LogKind.CDC),
            id="cdc",
        ),
        pytest.param(
            ".files-0000-0_00000000000000010.log.1_0-0-0",
            LogFileName("files-0000-0", "00000000000000010", 1, "0-0-0"),
            id="metadata-table",
        ),
        pytest.param(
            ".commits_.archive.3_1-0-1",
            LogFileName("commits", "", 3, "1-0-1", LogKind.ARCHIVE),
            id="archived-timeline",
        ),
        pytest.param(
            f"{UUID}-0_0-553-887_{T}_1.log.parquet",
            LogFileName(f"{UUID}-0", T, 1, "0-553-887", LogKind.LOG, "parquet"),
            id="native",
        ),
        pytest.param(
            "files-0000-0_0-0-0_00000000000000010_12.deletes.hfile",
            LogFileName("files-0000-0", "00000000000000010", 12, "0-0-0", LogKind.DELETES, "hfile"),
            id="native-deletes-of-the-metadata-table",
        ),
        pytest.param(
            f"{UUID}-0_0-553-887_{T}_1.cdc.lance",
            LogFileName(f"{UUID}-0", T, 1, "0-553-887", LogKind.CDC, "lance"),
            id="native-cdc",
        ),
    ],
)
def test_log_file_name_is_read_and_written(name, expected):
    assert LogFileName.parse(name) == expected
    assert name_of(expected) == name
    assert is_log_file_name(name) == (expected.kind is not LogKind.ARCHIVE)


NO_DATA_FILES = [
    "",
    "_SUCCESS",
    "_temporary",
    ".hoodie",
    ".hoodie_partition_metadata",
    ".hoodie_partition_metadata.parquet",
    "part-00000-236db3a2.c000.snappy.parquet",
    f"{UUID}-0_0-790-1304_{T}",
    f"{UUID}-0_{T}.parquet",
    f"{UUID}-0_0-790-1304_{T}_1.parquet",
    f"{UUID}-0_0-790_{T}_1.log.parquet",
    f"{UUID}-0_0-790-1304_{T}_x.log.parquet",
    f"{UUID}-0_0-790-1304_{T}_1.archive.parquet",
    f".{UUID}-0_0-790-1304_{T}_1.log.parquet",
    f".{UUID}-0_0-790-1304_{T}_1.log.parquet.crc",
    f"{UUID}-0_0-790-1304_inflight.parquet",
    f".{UUID}-0_0-790-1304_{T}.parquet.crc",
    f"amer/{UUID}-0_0-790-1304_{T}.parquet",
    f"{UUID}-0_{T}.log.1_0-1-0",
    f"..{UUID}-0_{T}.log.1_0-1-0.crc",
    f".{UUID}-0_{T}.log.1_0-1-0.crc",
    f".{UUID}-0_{T}.log",
    f".{UUID}-0_{T}.log.x_0-1-0",
    f".{UUID}-0_{T}.log.1_0-1",
    f".{UUID}-0_{T}.log.1.cdc",
    f".{UUID}-0_{T}.log.1_0-1-0xcdc",
    f".{UUID}-0_{T}.parquet.1_0-1-0",
    ".commits_.archive.3_1-0-1",
    "_hudiext",
    "data.parquet_hudiext",
    "data.parquet_1_fg%3D_hudiext",
    "data.parquet_fg%3Dx_hudiext",
]


@pytest.mark.parametrize("name", NO_DATA_FILES)
def test_other_names_are_no_data_files(name):
    assert parse_data_file_name(name) is None
    assert not is_log_file_name(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".hoodie_partition_metadata", True),
        (".hoodie_partition_metadata.parquet", True),
        (".hoodie_partition_metadata.orc", True),
        (".hoodie_partition_metadata.crc", False),
        ("..hoodie_partition_metadata.crc", False),
        (".hoodie_partition_metadata_1", False),
        (".hoodie", False),
    ],
)
def test_partition_marker_is_recognised_by_name(name, expected):
    assert is_partition_marker(name) is expected
