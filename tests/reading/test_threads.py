import threading
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiError
from hudi_pyspark.reading.threads import read_in_parallel


class Reads:
    """Reads tasks that are numbers: each gives that many tables; a negative one fails."""

    def __init__(self):
        self.opened = []

    def __call__(self, task):
        self.opened.append(task)
        if task < 0:
            raise HudiError(f"task {task}")
        for _ in range(task):
            yield pa.table({"n": [task]})


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("hudi-read")]


def all_ended():
    return not threads()


@pytest.mark.parametrize("more", [0, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_table_of_every_task_comes_once(count, more):
    tables = read_in_parallel([3, 0, 50, 1], Reads(), count, more)
    assert sorted(t["n"][0].as_py() for t in tables) == [1, 3, 3, 3, *[50] * 50]
    assert all_ended()


def test_more_threads_start_for_whoever_wants_more_than_one_table():
    reads = Reads()
    tables: Any = read_in_parallel([100] * 50, reads, 2, 3)
    next(tables)
    assert len(threads()) == 2
    next(tables)
    assert len(threads()) == 5
    tables.close()
    assert all_ended()


@pytest.mark.parametrize("count", [1, 2])
def test_error_of_a_task_reaches_the_caller_and_ends_the_others(count):
    reads = Reads()
    with pytest.raises(HudiError, match="task -1"):
        list(read_in_parallel([100, -1, *[100] * 50], reads, count))
    assert all_ended()
    assert len(reads.opened) < 52


def test_reading_stops_when_the_caller_does():
    reads = Reads()
    tables: Any = read_in_parallel([100] * 50, reads, 2)
    next(tables)
    tables.close()
    assert all_ended()
    assert len(reads.opened) <= 4
