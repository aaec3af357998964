"""Commits that the timeline of a table has lost, and what that means for a read.

Two things show that a commit is lost: the metadata table has completed it, or lists its files (see
`metadata_table/recorded_commits.py`), or later commits built on its files (see
`FileGroups.lost_commits`). `find_loss` weighs both. Callers decide whether to raise or to warn.

A lost commit usually means fewer rows. It means wrong rows if it had replaced rows:

- INSERT OVERWRITE and DELETE PARTITION: the replaced rows are read again. The commit is known while
  its plan is on the timeline.
- A clustering: its rows are read from the file groups that it replaced. That is right until a
  later commit writes to its own file groups; from then on the rows of both are read. Its base
  file shows what it is: it is the first of its group and has rows of earlier commits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.errors import CorruptTimelineError, HudiError
from hudi_pyspark.format.data_files import parse_data_file_name
from hudi_pyspark.format.parquet.checked_file import has_only_value, open_parquet
from hudi_pyspark.format.timeline.instant import Action
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.file_groups import FileGroups
from hudi_pyspark.table.listing import path_in
from hudi_pyspark.table.meta_columns import COMMIT_TIME_COLUMN

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

COMPLETED = "the metadata table has completed it"
COMPLETED_OR_FAILED = f"{COMPLETED}, unless its writer failed in between"
LISTED = "the metadata table was built with its files"
BUILT_ON = "later commits built on its files"

_KEEP_AWAY = "Keep writers and cleaners from the table, which would remove the files for good"


@dataclass(frozen=True, slots=True)
class Loss:
    """What a timeline has lost."""

    folder: str  # of the timeline, as errors show it
    commit: str  # requested time; "" if all of the timeline is lost
    proof: str  # that the commit was there; "" if all of the timeline is lost
    repeats_rows: bool = False  # rows that the commit replaced would be read again

    def error(self, hint: str = "") -> CorruptTimelineError:
        """Return the error that says what is lost, and what to do.

        Args:
            hint: what a warning says at its end; "" for nothing.
        """
        consequence = "its rows are missing"
        if self.repeats_rows:
            consequence = "rows that it replaced would be read again"
        problem = f"it has no completed commit {self.commit}, although {self.proof}: {consequence}"
        if not self.commit:
            problem = "it is empty, although the table has data files: their rows are missing"
        return CorruptTimelineError(self.folder, f"{problem}. {_KEEP_AWAY}{hint}")


def find_loss(view: TableView, recorded: Mapping[str, str], as_of: str | None) -> Loss | None:
    """Return what the timeline of a table has lost; None if nothing seems to be lost.

    Reads more than a plan has read only if commits seem to be lost.

    Args:
        view: the table, after its files were grouped.
        recorded: proof by commit that the metadata table has, and the timeline has lost.
        as_of: the last instant of interest; None for all.
    """
    proofs = {**recorded, **dict.fromkeys(view.groups.lost_commits(), BUILT_ON)}
    lost = {time: proofs[time] for time in sorted(proofs) if as_of is None or time <= as_of}
    folder = view.storage.describe(view.config.timeline_folder)
    if not lost:
        is_whole = bool(view.timeline.instants) or not view.groups.has_data_files()
        return None if is_whole else Loss(folder, "", "")
    certain = [time for time, proof in lost.items() if proof != COMPLETED_OR_FAILED]
    if certain and (time := _commit_that_replaced_rows(view.groups, certain)):
        return Loss(folder, time, lost[time], repeats_rows=True)
    first = next(iter(lost))
    return Loss(folder, first, lost[first])


def _commit_that_replaced_rows(groups: FileGroups, lost: Collection[str]) -> str:
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
        parquet = open_parquet(file)
        column = pa.field(COMMIT_TIME_COLUMN, pa.string())
        has_times = column.name in parquet.schema_arrow.names
        return has_times and not has_only_value(parquet, column, pa.scalar(time))
    return False
