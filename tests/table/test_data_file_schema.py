import io
from dataclasses import replace
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_pyspark.errors import StorageError
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata, commit_metadata_of
from hudi_pyspark.storage.file_systems import OpenFile
from hudi_pyspark.storage.remote_file import RemoteFile
from hudi_pyspark.table.data_file_schema import newest_data_file_schema
from tests.memory_storage import MemoryStorage
from verification.common.archives import files_of

OLDER, NEWER = "f-0_0-0-0_001.orc", "f-0_0-0-0_002.orc"
# Bytes 1100 to 1200 of this file are compressed parts of its footer.
DAMAGED = "amer/ffbe94d6-ad6a-43b3-bc63-bbe53b2f0b8b-0_0-2039-2684_20261121064434431.orc"


def commit(path, **counts):
    """The metadata of a commit that wrote one file."""
    stat = {"fileId": "f-0", "path": path, **counts}
    return commit_metadata_of({"partitionToWriteStats": {"": [stat]}})


def orc_file(table):
    out = io.BytesIO()
    orc.write_table(table, out)
    return out.getvalue()


class FailingStorage(MemoryStorage):
    """A storage that opens files and cannot read them."""

    def open_input(self, path):
        def fail(_):
            raise StorageError(path, "503 Slow Down", 3)

        opened = OpenFile(len(self.files[path]), None, Mock())
        return RemoteFile(fail, filesystem=Mock(), opened=opened, path=path)


GOOD = orc_file(pa.table({"a": [1], "b": ["x"]}))


def test_schema_is_that_of_the_newest_file_that_can_be_read():
    content = bytearray(files_of("v6_cow_orc")[DAMAGED])
    content[1142] ^= 0x80
    storage = MemoryStorage({OLDER: GOOD, NEWER: bytes(content)})
    with pytest.raises(pa.ArrowException, match="Unknown error"):
        orc.ORCFile(io.BytesIO(content))
    schema = newest_data_file_schema(storage, [commit(NEWER), commit(OLDER)])
    assert schema == pa.schema({"a": pa.int64(), "b": pa.string()})


@pytest.mark.parametrize("newer", [*(f.suffix for f in BaseFileFormat), ".txt"])
def test_damaged_file_of_any_format_is_passed_over(newer):
    path = f"f-0_0-0-0_002{newer}"
    storage = MemoryStorage({OLDER: GOOD, path: b"no file of any format"})
    schema = newest_data_file_schema(storage, [commit(path), commit(OLDER)])
    assert schema == pa.schema({"a": pa.int64(), "b": pa.string()})


def test_failure_of_the_storage_is_not_taken_for_damage():
    storage = FailingStorage({OLDER: GOOD})
    with pytest.raises(StorageError, match="503 Slow Down"):
        newest_data_file_schema(storage, [commit(OLDER)])


class OpenedStorage(MemoryStorage):
    """A storage that remembers what is opened."""

    def open_input(self, path):
        self.opened = [*getattr(self, "opened", []), path]
        return super().open_input(path)


def test_files_that_only_delete_are_opened_last():
    deleting = commit(NEWER, numDeletes=3)
    storage = OpenedStorage({OLDER: GOOD, NEWER: orc_file(pa.table({"c": [1]}))})
    schema = newest_data_file_schema(storage, [deleting, commit(OLDER)])
    assert schema == pa.schema({"a": pa.int64(), "b": pa.string()})
    assert storage.opened == [OLDER]
    assert newest_data_file_schema(storage, [deleting]) == pa.schema({"c": pa.int64()})


def test_sample_of_a_large_commit_is_opened_once_if_it_has_no_schema():
    sampled, other = (commit(path).write_stats[""][0] for path in (NEWER, OLDER))
    sampled = replace(sampled, num_writes=3)
    written = CommitMetadata({"": (sampled, other)}, sample=sampled)
    storage = OpenedStorage({OLDER: GOOD, NEWER: b"no file of any format"})
    assert newest_data_file_schema(storage, [written]) is not None
    assert storage.opened == [NEWER, OLDER]


@pytest.mark.parametrize(("rows", "opened"), [(3, [NEWER]), (0, [OLDER])])
def test_sample_of_a_large_commit_will_do_if_it_has_rows(rows, opened):
    sampled, other = (commit(path).write_stats[""][0] for path in (NEWER, OLDER))
    sampled = replace(sampled, num_writes=rows, file_size=9, num_deletes=1)
    written = CommitMetadata({"": (sampled, other)}, sample=sampled)
    table = orc_file(pa.table({"a": [1]}))
    storage = OpenedStorage({OLDER: table, NEWER: table})
    assert newest_data_file_schema(storage, [written]) == pa.schema({"a": pa.int64()})
    assert storage.opened == opened
