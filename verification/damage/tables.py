"""Files that change and calls that fail, and the rows of a table that has such files."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.record_types import FILES
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.scan import choose_scan
from hudi_pyspark.storage import FileInfo
from hudi_pyspark.table.view import open_table
from tests.golden.compare import rows_of
from tests.memory_storage import MemoryStorage
from verification.common.archives import files_of

SAME, NAMED, STORAGE, OTHER, BARE, ENDED = VERDICTS = (
    "the same rows", "a named error", "the storage's error", "other rows", "a bare error",
    "the process ended",
)  # fmt: skip


class StorageGone(ConnectionResetError):
    """The error of a storage's library, which the storages of the package name."""


class WatchedStorage(MemoryStorage):
    """Files that may change under a table that is open; each call is announced before."""

    def __init__(
        self, files: dict[str, bytes], announce: Callable[[str], object], prefix: str = ""
    ) -> None:
        self.files = files
        self._announce = announce  # takes the path
        self._prefix = prefix

    def list_directory(self, directory: str) -> list[FileInfo]:
        path = f"{self._prefix}{directory}"
        self._announce(path)
        return super().list_directory(path.rstrip("/"))

    def read_bytes(self, path: str) -> bytes:
        self._announce(f"{self._prefix}{path}")
        return super().read_bytes(f"{self._prefix}{path}")

    def at(self, location: str, *, is_given: bool = False) -> WatchedStorage:  # noqa: ARG002
        prefix = f"{self._prefix}{location.rstrip('/')}/"
        return WatchedStorage(self.files, self._announce, prefix)


def failing_storage(files: dict[str, bytes], failing: int) -> WatchedStorage:
    """Return a storage of which one call fails, as on a network that is gone for a moment."""
    calls = count(1)

    def announce(path: str) -> None:
        if next(calls) == failing:
            raise StorageGone(path)

    return WatchedStorage(files, announce)


def read(
    storage: MemoryStorage, filters: Sequence[str] = ("",), begins: Sequence[str] = ()
) -> pa.Table:
    """Return the rows of queries, in no special order; the metadata table is used if there is one.

    Args:
        storage: has the table.
        filters: of snapshot queries; "" for none.
        begins: of incremental queries.
    """
    view = open_table(storage)
    metadata = None
    if FILES in view.config.metadata_partitions:
        listing = MetadataListing(view)
        view, metadata = view.with_listing(listing), listing.indexed_by
    tables = []
    # Keys are unique in all tables with a record index, which is asked then.
    questions = [{"filter": text, "unique_keys": "true"} if text else {} for text in filters]
    for question in [*questions, *({"begin": begin} for begin in begins)]:
        options = ReadOptions.parse(question)
        scan = choose_scan(view, options, {}, metadata=metadata)  # without it, no index is asked
        tables.append(pa.Table.from_batches(scan.to_batches(threads=1), scan.schema))
    return pa.concat_tables(tables)


@cache
def filters_of(case: str) -> tuple[str, ...]:
    """Return the filters of queries: for all rows, and by key if there are indexes."""
    files = MemoryStorage(files_of(case))
    indexes = set(open_table(files).config.metadata_partitions) - {FILES}
    if not indexes:
        return ("",)
    keys = sorted(read(files).column("_hoodie_record_key").to_pylist())
    several = ", ".join(f"'{key}'" for key in (keys[0], *keys[1::2]))
    alone = (f"_hoodie_record_key = '{key}'" for key in (keys[0], "nobody", keys[-1]))
    return ("", *alone, f"_hoodie_record_key IN ({several})")


@cache
def begins_of(case: str) -> tuple[str, ...]:
    """Return where incremental queries begin: with all commits, and with the last ones."""
    times = [
        commit.requested_time
        for commit in open_table(MemoryStorage(files_of(case))).history.commits
    ]
    return ("000", *times[-3:-2], *times[-2:-1])


def verdict_of_rows(
    case: str,
    storage: MemoryStorage,
    more_filters: tuple[str, ...] = (),
    begins: tuple[str, ...] = (),
) -> tuple[str, str]:
    """Compare the rows of a damaged golden table with those of the undamaged one.

    Args:
        case: the golden table.
        storage: has the damaged table.
        more_filters: of queries that are asked besides.
        begins: of incremental queries that are asked besides.

    Returns:
        One of `VERDICTS`, and the class of an error, with the message of a bare one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a lost commit is told and no error
            table = read(storage, (*filters_of(case), *more_filters), begins)
    except HudiError as error:
        return NAMED, type(error).__name__
    except StorageGone:
        return STORAGE, "as it is"
    except Exception as error:  # noqa: BLE001  (the outcome that there should not be)
        return BARE, f"{type(error).__name__}: {error!s:.100}"
    return SAME if _answer(table) == _good_answer(case, more_filters, begins) else OTHER, ""


@cache
def _good_answer(case: str, more_filters: tuple[str, ...], begins: tuple[str, ...]) -> object:
    filters = (*filters_of(case), *more_filters)
    return _answer(read(MemoryStorage(files_of(case)), filters, begins))


def _answer(table: pa.Table) -> object:
    """Return the names of columns, and the rows without their order."""
    return table.schema.names, Counter(rows_of(table))
