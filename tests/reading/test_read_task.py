"""What a task says of a file that is gone when it is read."""

import pyarrow as pa
import pytest

from hudi_pyspark.errors import MissingFileError
from hudi_pyspark.planning.slice_tasks import SliceQuery
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.table.timeline import CommittedTimes
from tests.memory_storage import MemoryStorage
from tests.reading.log_records.log_files import KEY, rule_of
from tests.reading.planned_tasks import planner_of
from tests.table.tiny_table import TinyTable, base

ONE, OTHER = f"a/{base('f', '010')}", f"b/{base('g', '010')}"
SCHEMA = pa.schema([(KEY, pa.string()), ("p", pa.string())])


class ListedStorage(MemoryStorage):
    """Remembers which folders were listed."""

    def __init__(self, files):
        super().__init__(files)
        self.listed = []

    def list_directory(self, directory):
        self.listed.append(directory)
        return super().list_directory(directory)


def planned():
    """A table of two partitions, and the tasks that read its files."""
    table = TinyTable(table__partition__fields="p").write("010", "commit", ONE, OTHER)
    view = table.open()
    committed = CommittedTimes(frozenset({"010"}), "010")
    planner = planner_of(view.config, SCHEMA, rule_of(), committed)
    tasks = planner.tasks(view.slices.as_of(), SliceQuery(SCHEMA, "010"))
    return table, tasks


def test_file_that_the_table_needs_is_named_by_its_commit_and_only_its_partition_is_listed():
    table, (task, _) = planned()
    storage = ListedStorage(table.without(ONE, OTHER).files)
    with pytest.raises(MissingFileError, match=ONE) as raised:
        list(read_task(task, storage))
    assert str(raised.value) == str(MissingFileError.since_commit(ONE, "010"))
    assert "a" in storage.listed
    assert "b" not in storage.listed


def test_file_of_a_table_that_needs_it_no_longer_was_removed_since_planning():
    table, (task, _) = planned()
    replaced = table.write("020", "replacecommit", replaces={"a": ["f"]}).without(ONE)
    with pytest.raises(MissingFileError) as raised:
        list(read_task(task, MemoryStorage(replaced.files)))
    assert str(raised.value) == str(MissingFileError.since_planning(ONE))
