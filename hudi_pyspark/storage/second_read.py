"""Files of another machine are read once more before they count as damaged."""

from collections.abc import Callable
from typing import TypeVar

from hudi_pyspark.errors import CorruptTableError, MissingFileError, PathOutsideTableError
from hudi_pyspark.messages import logger
from hudi_pyspark.storage.protocol import Storage

_T = TypeVar("_T")
_log = logger(__name__)


def may_be_whole(error: CorruptTableError, storage: Storage) -> bool:
    """Return whether another read may succeed: the bytes on the way were damaged, not the file.

    Gateways answer with pages of their own, compress what they pass on, or shorten it.
    """
    is_of_content = not isinstance(error, MissingFileError | PathOutsideTableError)
    if storage.is_local or not is_of_content:
        return False
    _log.warning("read once more: %s", error.reason())
    return True


def read_twice(storage: Storage, read: Callable[[], _T]) -> _T:
    """Read from a storage, and once more where that finds damage; good files cost nothing."""
    try:
        return read()
    except CorruptTableError as error:
        if not may_be_whole(error, storage):
            raise
    return read()
