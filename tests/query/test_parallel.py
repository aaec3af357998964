import threading
import time
from typing import Any, cast

import pyarrow as pa
import pytest

from hudi_pyspark import HudiError
from hudi_pyspark.query import parallel
from hudi_pyspark.query.parallel import read_in_parallel


@pytest.fixture
def reads(monkeypatch):
    """Tasks are numbers: each gives that many tables; a negative one fails."""
    opened = []

    def read_task(task, _storage):
        opened.append(task)
        if task < 0:
            raise HudiError(f"task {task}")
        for _ in range(task):
            yield pa.table({"n": [task]})

    monkeypatch.setattr(parallel, "read_task", read_task)
    return opened


def read(tasks: Any, count: int) -> Any:
    """The tables of the tasks, with a storage that nothing reads from."""
    return read_in_parallel(tasks, cast("Any", None), count)


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("hudi-read")]


def all_ended():
    deadline = time.monotonic() + 10
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not threads()


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_table_of_every_task_comes_once(count):
    tables = read([3, 0, 50, 1], count)
    assert sorted(t["n"][0].as_py() for t in tables) == [1, 3, 3, 3, *[50] * 50]
    assert all_ended()


@pytest.mark.parametrize("count", [1, 2])
def test_error_of_a_task_reaches_the_caller_and_ends_the_others(reads, count):
    with pytest.raises(HudiError, match="task -1"):
        list(read([100, -1, *[100] * 50], count))
    assert all_ended()
    assert len(reads) < 52


def test_reading_stops_when_the_caller_does(reads):
    tables = read([100] * 50, 2)
    next(tables)
    tables.close()
    assert all_ended()
    assert len(reads) <= 4
