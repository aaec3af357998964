"""What a storage on a server must do: subclasses give the fixture `server`."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage import ArrowStorage
from tests.conftest import GOLDEN
from tests.contracts.storage import StorageContract
from tests.golden.case import load_case
from tests.golden.compare import differences

MOR = "v9_mor_compaction_inline"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def differences_from_apache_hudi(answer: pa.Table) -> list[str]:
    """Return how an answer differs from the snapshot that Apache Hudi reads."""
    (snapshot,) = (q for q in load_case(GOLDEN / MOR).queries if q.name == "snapshot")
    return differences(answer, snapshot.expected_rows(), snapshot.expected_schema())


class ServedContract(StorageContract):
    """What any storage must do, and a whole table, on a server."""

    @pytest.fixture
    def store(self, server):
        def build(files):
            return ArrowStorage.parse(server.write(files), server.options)

        return build

    def test_table_is_read_by_tasks_in_another_process(self, server, golden_table):
        location = server.write(files_of(golden_table(MOR)))
        scan = HudiTable(location, storage_options=server.options).scan()
        tasks, storage = pickle.loads(pickle.dumps((scan.plan(), scan.storage)))
        rows = [row for task in tasks for t in read_task(task, storage) for row in t.to_pylist()]
        expected = HudiTable(str(golden_table(MOR))).scan().to_arrow().to_pylist()
        by_key = lambda row: row["_hoodie_record_key"]  # noqa: E731
        assert sorted(rows, key=by_key) == sorted(expected, key=by_key)

    def test_table_has_the_rows_of_apache_hudi(self, server, golden_table):
        location = server.write(files_of(golden_table(MOR)))
        answer = HudiTable(location, storage_options=server.options).scan().to_arrow()
        assert differences_from_apache_hudi(answer) == []

    def test_times_of_files_are_known(self, server):
        location = server.write({"one": b"1"})
        (one,) = ArrowStorage.parse(location, server.options).list_directory("")
        assert one.modified_ms > 1_700_000_000_000
