"""Rows that a read would return again because the timeline has lost the commit that replaced them.

A lost commit usually means fewer rows. It means wrong rows if it had replaced rows:

- INSERT OVERWRITE and DELETE PARTITION: the replaced rows are read again. The commit is known while
  its plan is on the timeline.
- A clustering: its rows are read from the file groups that it replaced. That is right until a
  later commit writes to its own file groups; from then on the rows of both are read. Its base
  file shows what it is: it is the first of its group and has rows of earlier commits.
"""

from collections.abc import Collection
from contextlib import suppress

import pyarrow as pa

from hudi_pyspark.errors import HudiError
from hudi_pyspark.format.file_name import parse_data_file_name
from hudi_pyspark.format.parquet.checked_file import has_only_value, open_parquet
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_groups import FileGroups
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN

COMPLETED = "the metadata table has completed it"
COMPLETED_OR_FAILED = f"{COMPLETED}, unless its writer failed in between"


def commit_that_replaced_rows(groups: FileGroups, lost: Collection[str]) -> str:
    """Return one of some lost commits whose replaced rows would return; "" if none is known.

    Footers of base files are read if lost commits began file groups.

    Args:
        groups: of the table.
        lost: requested times of commits that the timeline has lost for certain.
    """
    history = groups.history
    for instant in history.timeline.pending:
        replaces = instant.action is Action.REPLACE_COMMIT and instant.requested_time in lost
        if replaces and not history.is_clustering(instant):
            return instant.requested_time
    for partition, files in groups.listed(groups.listing.partitions()):
        parsed_names = ((parse_data_file_name(file.name), file.name) for file in files)
        ordered = sorted((n.instant, n.file_id, name) for n, name in parsed_names if n is not None)
        first: dict[str, tuple[str, str]] = {}  # of each file group: instant and name of a file
        for time, file_id, name in ordered:
            began, first_name = first.setdefault(file_id, (time, name))
            is_continued = began in lost and time > began and time in history.committed
            path = path_in(partition, first_name)
            if is_continued and _has_rows_of_others(history.storage, path, began):
                return began
    return ""


def _has_rows_of_others(storage: Storage, path: str, time: str) -> bool:
    """Decide by the footer of a Parquet file whether it has rows of any other commit."""
    with suppress(pa.ArrowException, OSError, HudiError), storage.open_input(path) as file:
        parquet, column = open_parquet(file), pa.field(COMMIT_TIME_COLUMN, pa.string())
        has_times = column.name in parquet.schema_arrow.names
        return has_times and not has_only_value(parquet, column, pa.scalar(time))
    return False
