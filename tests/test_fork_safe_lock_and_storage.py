"""A thread that waits for the storage of a table holds up no other table, and no forked process."""

from __future__ import annotations

import multiprocessing
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.implementations.local import LocalFileSystem

from hudi_pyspark import HudiTable
from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.storage.credentials import current_credentials
from tests.conftest import GOLDEN, PATIENCE, PROJECT
from tests.golden.case import load_case
from tests.storage.s3_server import serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CASES = ["v9_mor_mdt_indexes", "v6_mor_part_basic"]  # the first has a metadata table


class StallingFileSystem(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Local files; while it stalls, each listing waits."""

    cachable = False
    stalls = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.waits, self.goes_on = Event(), Event()

    def ls(self, path: str, detail: bool = False, **settings: Any) -> Any:  # noqa: FBT001, FBT002
        if self.stalls:
            self.waits.set()
            assert self.goes_on.wait(PATIENCE)
        return super().ls(path, detail, **settings)


@contextmanager
def stalled_read(table: HudiTable, files: StallingFileSystem) -> Iterator[None]:
    """Read a table in another thread, which waits for a listing for the time of the block."""
    with ThreadPoolExecutor(1) as pool:
        files.stalls = True
        rows = pool.submit(table.scan(use_metadata_table=False).count)
        try:
            assert files.waits.wait(PATIENCE)
            yield
        finally:
            files.goes_on.set()
        assert rows.result(PATIENCE) > 0


@pytest.mark.parametrize("case", CASES)
def test_table_does_not_wait_for_the_storage_of_another(case, golden_table):
    files = StallingFileSystem()
    slow = HudiTable(str(golden_table(case)), filesystem=files)
    with stalled_read(slow, files), ThreadPoolExecutor(1) as pool:
        read = pool.submit(lambda: HudiTable(golden_table(case)).scan().count())
        try:
            assert read.result(PATIENCE) == rows_of(case)
        finally:
            files.goes_on.set()  # so that no thread waits for ever


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("case", CASES)
def test_forked_process_reads_the_table_that_its_parent_is_reading(case, golden_table):
    files = StallingFileSystem()
    table = HudiTable(str(golden_table(case)), filesystem=files)

    def read_both() -> None:
        files.stalls = False
        assert table.scan().count() == rows_of(case)
        assert HudiTable(golden_table(case)).scan().count() == rows_of(case)

    with stalled_read(table, files):
        assert exit_code_of(read_both) == 0


def rows_of(case: str) -> int:
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    return len(query.expected_rows().to_pylist())


def exit_code_of(function: Callable[[], None]) -> int | None:
    """Run a function in a forked process; None if it does not end."""
    child = multiprocessing.get_context("fork").Process(target=function)
    child.start()
    child.join(PATIENCE)
    code = child.exitcode
    child.kill()
    child.join()
    return code


class Table:
    def __init__(self, find: Callable[[], int]) -> None:
        self.find = find

    @cached_property
    def rows(self) -> int:
        """How many."""
        return self.find()


def test_cached_property_is_computed_once_and_of_each_object():
    numbers = iter(range(10))
    first, second = Table(lambda: next(numbers)), Table(lambda: next(numbers))
    assert (first.rows, first.rows, second.rows) == (0, 0, 1)
    del first.rows
    assert first.rows == 2
    assert Table.rows.__doc__ == "How many."


def test_only_one_module_takes_the_property_whose_lock_is_that_of_its_class():
    imported = re.compile(r"from functools import .*\bcached_property")
    modules = (PROJECT / "hudi_pyspark").rglob("*.py")
    found = [module.name for module in modules if imported.search(module.read_text("utf-8"))]
    assert found == ["cached_property.py"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_lock_keeps_other_threads_out_but_no_forked_process():
    lock = ForkSafeLock()
    with ThreadPoolExecutor(1) as pool:
        with lock:
            entered = pool.submit(lock.__enter__)
            assert exit_code_of(lock.__enter__) == 0
            assert not entered.done()
        assert entered.result(PATIENCE) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_process_has_connections_of_its_own(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/f").write_bytes(b"content")
    keys = {"access_key": "AKID", "secret_key": "very-secret-key", "region": "eu-north-1"}
    with serve(tmp_path) as server:
        storage = ArrowStorage.parse("s3://lake/t", {**keys, "endpoint_override": server.endpoint})
        known = storage.files.current()

        def read() -> None:
            assert storage.read_bytes("f") == b"content"
            assert storage.files.current() is not known

        assert exit_code_of(read) == 0
        assert storage.files.current() is known


class Provider:
    """Waits for an event before it supplies credentials."""

    def __init__(self) -> None:
        self.is_asked, self.goes_on = Event(), Event()

    def credentials(self, location: str) -> Mapping[str, object]:
        self.is_asked.set()
        assert self.goes_on.wait(PATIENCE)
        return {"access_key": location}


def test_slow_provider_of_credentials_holds_up_no_other():
    slow, quick = Provider(), Provider()
    quick.goes_on.set()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(current_credentials, slow, "s3://slow/")
        assert slow.is_asked.wait(PATIENCE)
        try:
            answer = pool.submit(current_credentials, quick, "s3://quick/").result(PATIENCE)
        finally:
            slow.goes_on.set()
    assert answer.options["access_key"] == "s3://quick/"
    assert waiting.result().options["access_key"] == "s3://slow/"
