"""The version of an open file: an ETag or generation, else a time of change, else nothing."""

import os
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow.fs as pafs
import pytest

from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.file_systems import (
    ArrowFileSystem,
    FsspecFileSystem,
    HdfsNativeFileSystem,
    TimeOfChange,
)
from hudi_pyspark.storage.remote_file import versions_of


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"ETag": '"a"', "LastModified": 1}, '"a"'),
        ({"etag": "a"}, "a"),
        ({"ETag": 'W/"a"', "LastModified": 1}, TimeOfChange(1000)),
        ({"ETag": "", "mtime": 1.5}, TimeOfChange(1500)),
        ({"ETag": None, "modificationTime": 7}, TimeOfChange(7)),
        ({"modificationTime": 0}, None),
        ({}, None),
    ],
    ids=str,
)
def test_file_of_fsspec(info, expected):
    files = FsspecFileSystem(Mock(info=Mock(return_value={"size": 1, **info})))
    assert files.open("t/f").version == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"ETag": b'"a"'}, '"a"'),
        ({"ETag": '"a"', "generation": "7"}, "7"),
        ({"ETag": b'W/"a"'}, TimeOfChange(5)),
        ({}, TimeOfChange(5)),
    ],
    ids=str,
)
def test_file_of_pyarrow(metadata, expected):
    file = Mock(metadata=Mock(return_value=metadata), size=Mock(return_value=1))
    info = SimpleNamespace(mtime_ns=5_999_999)
    filesystem: Any = Mock(
        open_input_file=Mock(return_value=file), get_file_info=Mock(return_value=info)
    )
    assert ArrowFileSystem(filesystem).open("t/f").version == expected
    info.mtime_ns = None
    version = ArrowFileSystem(filesystem).open("t/f").version
    assert version == (None if isinstance(expected, TimeOfChange) else expected)


def test_file_of_hdfs_native():
    client = Mock(
        read=Mock(return_value=b"1"),
        get_file_info=Mock(return_value=SimpleNamespace(modification_time=3)),
    )
    files = HdfsNativeFileSystem(SimpleNamespace(client=client), "hdfs://name:1")
    assert files.open("/t/f").version == TimeOfChange(3)


def test_versions_of_several_files(tmp_path):
    for number, name in enumerate("ab", 1):
        (tmp_path / name).write_bytes(b"1")
        os.utime(tmp_path / name, (number, number))
    files = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    storage = ArrowStorage.on(files, "")
    assert versions_of(storage, ["b", "a"]) == (TimeOfChange(2000), TimeOfChange(1000))
