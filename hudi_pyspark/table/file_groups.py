"""The file groups of a table: listed and committed files, sorted by group and slice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.timeline.table_service_metadata import parse_compaction_plan
from hudi_pyspark.table.data_files import committed_files, data_files
from hudi_pyspark.table.file_group import group_files
from hudi_pyspark.table.timeline import plan_path, read_instant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hudi_pyspark.table.commit_history import CommitHistory
    from hudi_pyspark.table.config import TableConfig
    from hudi_pyspark.table.data_files import CommittedFile
    from hudi_pyspark.table.file_group import FileGroup, LogFile
    from hudi_pyspark.table.listing import FileListing, PartitionChoice


@dataclass(frozen=True)
class FileGroups:
    """Every file group of a table with all its slices, those of no use for a query included."""

    config: TableConfig
    history: CommitHistory
    listing: FileListing

    @cached_property
    def committed_files(self) -> Mapping[str, Mapping[str, CommittedFile]]:
        """Partition path to file name to what completed commits record of the file."""
        return committed_files(self.history.commit_metadata.of(self.history.commit_metadata))

    def all(self, choice: PartitionChoice | None = None) -> Iterator[FileGroup]:
        """Yield the groups of all partitions, by partition path and file id.

        Args:
            choice: only of these partitions.
        """
        # A partition that commits name but the listing does not has lost its files, or its marker.
        named = sorted(self.committed_files)
        named = named if choice is None else choice.choose(named)
        partitions = sorted({*self.listing.partitions(choice), *named})
        yield from self.of(partitions, self.committed_files)

    def of(
        self,
        partitions: list[str],
        committed: Mapping[str, Mapping[str, CommittedFile]],
        only: Mapping[str, Collection[str]] | None = None,
    ) -> Iterator[FileGroup]:
        """Yield the groups of some partitions, by partition path and file id.

        Args:
            partitions: their paths.
            committed: partition path to file name to what commits record of the file.
            only: partition path to names of files that count; None for all.
        """
        files = self.listing.files(partitions)
        for partition in partitions:
            listed = files[partition]
            if only is not None:
                listed = [file for file in listed if file.name in only[partition]]
            base_files, log_files = data_files(
                partition, listed, committed.get(partition, {}), self.config
            )
            yield from group_files(
                partition,
                base_files,
                [log for log in log_files if self._may_count(log)],
                pending_compactions=self._pending_compactions.get(partition, {}),
                completion_time=(
                    self.history.completion_time if self.config.log_file_has_one_commit else None
                ),
            )

    def find(self, partition_path: str, file_id: str) -> FileGroup | None:
        """Return a group with its older and uncommitted slices too; None if it has no files."""
        if partition_path not in self._by_partition:
            self._by_partition[partition_path] = {
                group.file_id: group for group in self.of([partition_path], self.committed_files)
            }
        return self._by_partition[partition_path].get(file_id)

    def relist(self, partition_path: str, missing_file: str) -> bool:
        """List a partition anew, since a committed file is missing; see `FileListing.relist`."""
        is_relisted = self.listing.relist(partition_path, missing_file)
        if is_relisted:
            self._by_partition.pop(partition_path, None)
        return is_relisted

    @cached_property
    def _by_partition(self) -> dict[str, dict[str, FileGroup]]:
        return {}

    def _may_count(self, log: LogFile) -> bool:
        # Up to table version 7 one log file holds blocks of several commits, so that the decision
        # falls block by block, when the file is read. Later an uncommitted file is left out before
        # it can start a slice, which would hide the committed log files that follow it.
        return not self.config.log_file_has_one_commit or log.instant_time in self.history.committed

    def pending_compaction(self, group: FileGroup) -> str | None:
        """Return the instant of the compaction that is planned for a group; None without one."""
        return self._pending_compactions.get(group.partition_path, {}).get(group.file_id)

    @cached_property
    def _pending_compactions(self) -> Mapping[str, Mapping[str, str]]:
        """Partition path to file id to the instant of the compaction planned for it."""
        planned: dict[str, dict[str, str]] = {}
        for instant in self.history.timeline.pending_compactions:
            path = plan_path(instant, self.config)
            plan = parse_compaction_plan(read_instant(self.history.storage, path), path=path)
            for planned_slice in plan.slices:
                partition, file_id = planned_slice.partition_path, planned_slice.file_id
                instants = planned.setdefault(partition, {})
                if file_id in instants:
                    raise CorruptTableError(
                        f"compactions {instants[file_id]} and {instant.requested_time} are both "
                        f"planned for file group {file_id} of partition {partition!r}; Hudi plans "
                        "one at a time"
                    )
                instants[file_id] = instant.requested_time
        return planned
