"""Reading of a task of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.errors import HudiError, MissingFileError
from hudi_pyspark.reading.changes import read_changes
from hudi_pyspark.reading.slice_reader import read
from hudi_pyspark.tasks import CdcTask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    import pyarrow as pa

    from hudi_pyspark.storage import Storage
    from hudi_pyspark.tasks import ScanTask

    ReadTask: TypeAlias = ScanTask | CdcTask


def read_task(task: ReadTask, storage: Storage) -> Iterator[pa.Table]:
    """Yield the rows of a file slice, or the changes that a commit made to a file group."""
    rows = read_changes(task, storage) if isinstance(task, CdcTask) else read(task, storage)
    try:
        yield from rows
    except MissingFileError as error:
        lost = _lost_file(storage)
        if lost is None:
            raise
        raise lost from error


def _lost_file(storage: Storage) -> MissingFileError | None:
    """Return the error for a file that the table needs now and lacks; None after a clean."""
    from hudi_pyspark.table.view import open_table  # noqa: PLC0415  (workers rarely need it)

    try:
        open_table(storage).file_slices(check_files=True)
    except MissingFileError as error:
        return error
    except (HudiError, OSError):
        pass
    return None
