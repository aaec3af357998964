"""The metadata table of a table: whether it may be read, and the slices of its partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import (
    CorruptTableError,
    InvalidOptionError,
    MissingFileError,
    TableNotFoundError,
)
from hudi_pyspark.format.file_name import parse_data_file_name
from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.metadata_table import records
from hudi_pyspark.metadata_table.column_stats import KnownBounds
from hudi_pyspark.metadata_table.entries import MOST_BYTES_AS_A_WHOLE, Entries, MetadataSlice
from hudi_pyspark.metadata_table.shards import Shards, shards_of
from hudi_pyspark.options.option import Index
from hudi_pyspark.table.config import METADATA_FOLDER
from hudi_pyspark.table.file_group import FileSlice
from hudi_pyspark.table.file_groups import CommittedFile
from hudi_pyspark.table.listing import DirectoryListing, path_in
from hudi_pyspark.table.returning_rows import COMPLETED, COMPLETED_OR_FAILED
from hudi_pyspark.table.table_services import known_restores, known_rollbacks
from hudi_pyspark.table.timeline import CommittedTimes, Timeline, compared_times, load_timeline
from hudi_pyspark.table.view import TableView, open_table

FileGroupId = tuple[str, str]  # partition path and file id

_FOLDER = f"{METADATA_FOLDER}/metadata"
_ALL_PARTITIONS = "__all_partitions__"
_OWN_INSTANT_LENGTH = 20  # of instants that only the metadata table has, up to table version 7
_INITIAL_INSTANTS = "00000000000000"
_INITIAL_WRITE_TOKEN = "0-0-0"  # of the log file with which a file group is created
# Of the record index: the encoding of a file id that is not a UUID, and a UUID without a number.
_AS_TEXT = 1
_NO_FILE_INDEX = -1


@dataclass(eq=False)
class MetadataTable:
    """The metadata table as of when it was opened; it keeps what it has read of indexes."""

    table: TableView  # that it describes
    view: TableView  # its own timeline and files
    _indexes: dict[str, dict[str, Shards]] = field(default_factory=dict, init=False)
    _bounds: KnownBounds | None = field(default=None, init=False)  # of the last slices asked for

    @classmethod
    def open(cls, table: TableView) -> MetadataTable:
        """Open the metadata table of a table.

        Raises:
            MissingFileError: there is none, although the table's properties name partitions of it.
        """
        location = table.storage.describe(_FOLDER)
        try:
            opened = open_table(table.storage.at(location))
        except TableNotFoundError as error:
            raise MissingFileError(
                f"{location} is not a table, although hoodie.table.metadata.partitions requires one"
            ) from error
        # Its properties name no partition columns, yet its records lie in folders.
        in_folders = replace(opened.config, partition_fields=("partition",))
        listing = DirectoryListing(opened.storage, in_folders)
        return cls(table, replace(opened, listing=listing))

    @cached_property
    def missing_commits(self) -> list[str]:
        """The requested times of the table's commits that it lacks, in order."""
        # Each commit of the table is one of the metadata table, too, and completes there first.
        known = {instant.requested_time for instant in self.view.timeline.completed}
        # Commits before its own timeline are in its base files.
        first = min((time for time in known if not time.startswith(_INITIAL_INSTANTS)), default="")
        # One that is pending here has lost its end: it is no commit before that timeline.
        pending = {instant.requested_time for instant in self.view.timeline.pending}
        times = {commit.requested_time for commit in self.table.commits} - known
        return sorted(time for time in times if time >= first or time in pending)

    @cached_property
    def recorded_commits(self) -> frozenset[str]:
        """The table's commits whose files it recorded when they were committed.

        It has files of other commits by a listing of the storage, made when it was created, which
        may have missed some. Where it is ahead of the table's timeline, a clean may have removed
        files from it that the state of that timeline needs: then there are none. A commit without
        a log block counts up to the newest one of which the listing has files, since a base file
        may be an older one under the name of a newer one, which lacks all of the last commits.
        """
        own = self._delta_commits
        newest = max((i.requested_time for i in self.table.timeline.completed), default="")
        if max(own, default="") > newest:
            return frozenset()
        recorded = own.intersection(c.requested_time for c in self.table.commits)
        by_blocks = frozenset[str]().union(*(s.scan.instants for s in self.file_listing))
        others = recorded - by_blocks
        newest = self._newest_without(by_blocks) if others else ""
        return frozenset(recorded - {time for time in others if time > newest})

    def _newest_without(self, times: Collection[str]) -> str:
        """Return the newest instant but some of which the listing has files.

        Base files that are too large for it count as what their names say.
        """
        if self._all_sizes is None:
            return max(s.file_slice.base_instant_time for s in self.file_listing)
        return max(self._instants_of_files.difference(times), default="")

    @cached_property
    def _instants_of_files(self) -> frozenset[str]:
        """The instants in the names of all files; none where the listing is large."""
        names = [name for sizes in (self._all_sizes or {}).values() for name in sizes]
        parsed = map(parse_data_file_name, names)
        return frozenset(n.instant or "" for n in parsed if n is not None)

    @cached_property
    def _delta_commits(self) -> frozenset[str]:
        """Its completed delta commits, without those that built it; each commit has one."""
        completed = (i for i in self.view.timeline.completed if i.action is Action.DELTA_COMMIT)
        times = (i.requested_time for i in completed)
        return frozenset(time for time in times if not time.startswith(_INITIAL_INSTANTS))

    @cached_property
    def uncommitted(self) -> frozenset[str]:
        """The delta commits that completed here, and not in the table's timeline.

        A commit of the table completes here first. So its writer is about to complete it, or failed
        in between; or it was undone or archived since; or the timeline has lost it. A few are table
        services of the metadata table itself.
        """
        return self._delta_commits - _completed_times(self.table.timeline)

    @cached_property
    def lost_commits(self) -> dict[str, str]:
        """The commits that the table's timeline has lost: requested time, in order, to the proof.

        A commit is lost if it is pending there, although another instant has completed since, or
        for a day; or if it is missing there, and was neither undone nor archived. A few requests
        are made if there seem to be any: the timeline is listed once more, for instance, since a
        writer may have completed or undone them meanwhile.

        Raises:
            MissingFileError: a writer archives or rolls back faster than files can be listed.
            CorruptTableError: the listing of files, or a rollback, is damaged.
        """
        pending = {i.requested_time for i in self.table.timeline.pending}
        suspects = {
            time: proof
            for time in sorted(self.uncommitted)
            if (proof := self._proof_of(time, is_pending=time in pending))
        }
        if not suspects:
            return {}
        again = load_timeline(self.table.storage, self.table.config)
        still_pending = {i.requested_time for i in again.pending}
        undone = _rolled_back_times(self.table) if suspects.keys() - pending else ()
        return {
            time: proof
            for time, proof in suspects.items()
            if time not in _completed_times(again) and (time in pending) == (time in still_pending)
            if time in pending or not (time in undone or self._is_service(time))
        }

    def _proof_of(self, time: str, *, is_pending: bool) -> str:
        """Say why the table's timeline seems to have lost a commit; "" if it may not have."""
        table = self.table.timeline
        if is_pending:
            completed_here = compared_times(self.view.timeline.completed, by_completion=True)[time]
            by_completion = self.table.config.has_completion_times
            completed = compared_times(table.completed, by_completion=by_completion)
            if completed_here < max(completed.values(), default=""):
                return COMPLETED  # writers complete a commit in both tables before they go on
            # Instants have the time zone of their writer.
            yesterday = datetime.now(timezone.utc) - timedelta(days=1)
            is_old = completed_here < yesterday.strftime("%Y%m%d%H%M%S")
            return COMPLETED_OR_FAILED if is_old else ""
        # The oldest instants of each action are archived, and a restore removes some.
        if time < self.table.history.committed.first or len(time) == _OWN_INSTANT_LENGTH:
            return ""
        may_be_undone = time < max(
            min(_times(table.of_action(Action.ROLLBACK)), default=""),
            max(_times(table.of_action(Action.RESTORE)), default=""),
        ) or any(i.action in (Action.ROLLBACK, Action.RESTORE) for i in table.pending)
        adds_files = not may_be_undone and self._adds_files(time)
        return COMPLETED if adds_files or time in self._instants_of_files else ""

    def _adds_files(self, time: str) -> bool:
        """Decide whether a commit added files to the listing, by log blocks that are still there.

        A clean does not.
        """
        entries = (e for of_files in self.file_listing for e in of_files.written_by(time))
        listed = records.merged_values(entries, records.LISTINGS)
        return any(files for name, _, files in listed if name != _ALL_PARTITIONS)

    def _is_service(self, time: str) -> bool:
        return self.view.commit_metadata[time].operation_type.is_table_service

    def slices(self, partition: str, *, check_files: bool) -> list[MetadataSlice]:
        """Return a partition's slices, by file id; ``check_files`` refuses missing or cut ones.

        Raises:
            CorruptTableError: ``check_files`` is true, and a file is missing or shorter than
                committed.
        """
        until = self.view.last_instant
        committed = {partition: self._committed(partition)} if check_files else {}
        groups = self.view.groups.of([partition], committed)
        merged = (self.view.slices.latest(group, until) for group in groups)
        slices = [s for s in merged if s is not None and not s.is_empty]
        for file_slice in slices if check_files else ():
            self._check_files(file_slice, committed[partition])
        return [MetadataSlice(self.view.storage, s, self._valid_among) for s in slices]

    @cached_property
    def file_listing(self) -> list[MetadataSlice]:
        """The slices of the partition of files, which have what each commit recorded.

        Raises:
            CorruptTableError: a file is missing or damaged, so that files of commits are unknown.
        """
        slices = self.slices(records.FILES, check_files=False)
        if any(s.file_slice.base_file is None for s in slices):
            slices = self.slices(records.FILES, check_files=True)  # lost, or there never was one
        config, history = self.view.config, self.view.history
        base = max((s.file_slice.base_instant_time for s in slices), default="")
        read = {base, *(time for s in slices for time in s.scan.instants)}
        completed = {instant.requested_time for instant in self.table.timeline.completed}
        # A commit's metadata is read only where its block was not: it may have written none.
        for time in history.commit_metadata:
            ended = self._completed_at(time) if config.has_completion_times else time
            is_unread = time in completed and time not in read and ended > base
            if is_unread and records.FILES in history.commit_metadata[time].write_stats:
                raise self._corrupt(records.FILES, f"lacks what commit {time} recorded there")
        return slices

    @cached_property
    def partition_paths(self) -> list[str]:
        """The paths of all partitions of the table, sorted.

        Raises:
            CorruptTableError: there is none, although the table has commits.
        """
        names = sorted(self.file_sizes([_ALL_PARTITIONS]).get(_ALL_PARTITIONS, ()))
        if not names and self.table.commits:
            raise CorruptTableError("the metadata table lists no partition")
        return [""] if names == [records.UNPARTITIONED] else names

    def file_sizes(self, names: Iterable[str]) -> dict[str, dict[str, int]]:
        """Return the sizes of files in bytes, by the name of their partition and their own."""
        if self._all_sizes is not None:
            return {name: self._all_sizes[name] for name in names if name in self._all_sizes}
        keys = pa.array(names, pa.string())
        return _merged_sizes(of_files.find(keys) for of_files in self.file_listing)

    @cached_property
    def _all_sizes(self) -> dict[str, dict[str, int]] | None:
        """The sizes of all files; None where decoding all of the listing at once costs more.

        A small listing is decoded in one piece for less than a part of it for each question.
        """
        base_files = [s.file_slice.base_file for s in self.file_listing]
        if any(b is not None and b.size > MOST_BYTES_AS_A_WHOLE for b in base_files):
            return None
        return _merged_sizes(of_files.all() for of_files in self.file_listing)

    def _committed(self, partition: str) -> dict[str, CommittedFile]:
        """Return what commits record of a partition's files since it was last built.

        A partition that is dropped leaves its commits behind.
        """
        committed = self.view.groups.committed_until(self.view.last_instant).get(partition, {})
        built_at = self._built_at(partition)
        return {
            name: file
            for name, file in committed.items()
            if self._completed_at(file.committed_by) >= built_at
        }

    def _completed_at(self, time: str) -> str:
        return self.view.history.completion_time(time) or time

    def bounds_of(self, slices: Sequence[FileSlice]) -> KnownBounds:
        """Return the bounds of columns in slices, which are kept for the next question on them."""
        if self._bounds is None or self._bounds.slices != slices:
            find = partial(self.find, Index.COLUMN_STATS.value)
            self._bounds = KnownBounds(slices, self.table, find)
        return self._bounds

    def find(self, partition: str, keys: Sequence[str]) -> Iterator[list[Entries]]:
        """Yield the entries of some keys, oldest first, for each file group that can have them.

        Args:
            partition: of the metadata table, such as ``record_index``.
            keys: of its records, in any order. Those without a record are missing.

        Raises:
            CorruptTableError: the partition has no files, or one of its files is damaged.
        """
        for shards in self._index(partition).values():
            yield from shards.find(keys)

    def locate(self, keys: Sequence[str]) -> dict[str, list[FileGroupId]]:
        """Return file groups by record key; a *partitioned record index* has one per partition.

        A key that is missing may have rows all the same, and a key that is found may have others.
        """
        places: dict[str, list[FileGroupId]] = {}
        for entries in self.find(records.RECORD_INDEX, keys):
            for key, _, place in records.merged_values(entries, records.RECORD_PLACES):
                places.setdefault(key, []).append((place["partitionName"], _file_id(place)))
        return places

    def _index(self, partition: str) -> dict[str, Shards]:
        """Return the file groups of an index, which keep what they have read; at least one."""
        if partition not in self._indexes:
            # A slice without statistics or Bloom filter is kept; an older place would be wrong.
            is_exact = partition == records.RECORD_INDEX
            self._indexes[partition] = shards_of(self.slices(partition, check_files=is_exact))
        if not self._indexes[partition]:
            problem = "has no files, although hoodie.table.metadata.partitions names it"
            raise self._corrupt(partition, problem)
        return self._indexes[partition]

    def _check_files(self, file_slice: FileSlice, committed: Mapping[str, CommittedFile]) -> None:
        """Refuse a slice that lacks a file, or the end of one, or has another base file.

        Up to table version 7 a missing log file may have been appended to another one. A slice
        without a base file begins with the empty log file with which its group was created.
        """
        base = file_slice.base_file
        if base is None and file_slice.log_files[0].write_token != _INITIAL_WRITE_TOKEN:
            problem = "has neither a base file below it nor the first log file of its group"
            raise self._corrupt(file_slice.log_files[0].path, problem)
        self.view.slices.check_files(file_slice)
        known = committed.get(base.path.rpartition("/")[2]) if base is not None else None
        if base is not None and known is not None and known.size not in (0, base.size):
            problem = f"has {base.size} bytes, but its commit says {known.size}"
            raise self._corrupt(base.path, problem)

    def _corrupt(self, path: str, problem: str) -> CorruptTableError:
        return CorruptTableError(f"{self.view.storage.describe(path)} {problem}")

    def _built_at(self, partition: str) -> str:
        """Return the completion time of the commit that last built a partition; "" if unknown."""
        return max(
            (
                commit.completion_time or commit.requested_time
                for commit in self.view.commits
                if commit.requested_time.startswith(_INITIAL_INSTANTS)
                and partition in self.view.commit_metadata[commit.requested_time].write_stats
            ),
            default="",
        )

    def _valid_among(self, times: Collection[str]) -> CommittedTimes:
        """Return the valid instants, given those that are asked about.

        It is written before the table commits. Instants that the table rolled back since count,
        too, since the rollback itself follows; they are looked up only where they matter.
        """
        if all(time in self._valid for time in times):
            return self._valid
        return replace(self._valid, times=self._valid.times | _rolled_back_times(self.table))

    @cached_property
    def _valid(self) -> CommittedTimes:
        """The instants that are valid whatever was rolled back."""
        table, own = self.table.timeline, self.view.timeline
        # From layout 2 on its own instants are as long as those of the table.
        may_be_own = self.table.config.has_completion_times
        valid = {i.requested_time for i in table.completed}
        pending = {i.requested_time for i in table.pending}
        for instant in own.completed:
            time = instant.requested_time
            is_initial = time.startswith(_INITIAL_INSTANTS)
            if is_initial or instant.action in (Action.ROLLBACK, Action.RESTORE):
                valid.add(time)
            elif instant.action in (Action.DELTA_COMMIT, Action.COMMIT):
                is_own = may_be_own or len(time) == _OWN_INSTANT_LENGTH
                if is_own and time not in pending:
                    valid.add(time)
        # Instants before the active timeline of the table have committed, or were rolled back.
        first = min((i.requested_time for i in table.instants), default="")
        return CommittedTimes(frozenset(valid), first, frozenset(pending))


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """A record of the metadata table: its value for one key."""

    metadata_partition: str
    file_id: str  # of the metadata table's file group
    key: str
    type_name: str  # the number of the record type where it has no name
    value: Mapping[str, Any]  # the field of the record that its type fills


def load_metadata(view: TableView, partition: str | None) -> Iterator[MetadataRecord]:
    """Yield the merged records of readable metadata partitions, by partition and key.

    Args:
        view: the table.
        partition: of the metadata table; None for all of them.

    Raises:
        InvalidOptionError: the table has no such partition.
        MissingFileError, CorruptTableError: a file of the partition is gone or damaged.
    """
    known = sorted(view.config.metadata_partitions)
    if partition is not None and partition not in known:
        has = ", ".join(known) or "none"
        raise InvalidOptionError(f"the table has no metadata partition {partition!r}; it has {has}")
    if not known:
        return
    metadata = MetadataTable.open(view)
    for name in known if partition is None else [partition]:
        for metadata_slice in metadata.slices(name, check_files=True):
            file_id = metadata_slice.file_slice.file_id
            for key, kind, value in records.merged_values(metadata_slice.all()):
                type_name, _ = records.RECORD_TYPES.get(kind, (str(kind), ""))
                fields = value
                if kind in records.LISTINGS:
                    fields = {f: {"size": size, "isDeleted": False} for f, size in value.items()}
                yield MetadataRecord(name, file_id, key, type_name, fields)


def listed_files(view: TableView) -> dict[str, int]:
    """Return path and size of each file that the metadata table lists.

    Raises:
        InvalidOptionError: the table has no metadata table.
    """
    return {
        path_in("" if record.key == records.UNPARTITIONED else record.key, name): file["size"]
        for record in load_metadata(view, records.FILES)
        if record.type_name == "FILES"
        for name, file in record.value.items()
    }


def _merged_sizes(slices: Iterable[Iterable[Entries]]) -> dict[str, dict[str, int]]:
    """Return the sizes in slices of the listing, by partition and file; oldest entries first."""
    return {
        key: value
        for parts in slices
        for key, _, value in records.merged_values(parts, records.LISTINGS)
    }


def _times(instants: Iterable[Instant]) -> Iterator[str]:
    return (instant.requested_time for instant in instants)


def _rolled_back_times(view: TableView) -> frozenset[str]:
    """Return the instants that rollbacks and restores of the active timeline undid."""
    undone = [*known_rollbacks(view, archived=False), *known_restores(view)]
    return frozenset(time for _, rollback, _ in undone for time in rollback.rolled_back_times)


def _completed_times(timeline: Timeline) -> set[str]:
    """Return the times of completed instants; a savepoint has that of its commit."""
    return {i.requested_time for i in timeline.completed if i.action is not Action.SAVEPOINT}


def _file_id(place: Mapping[str, Any]) -> str:
    """Return a file id, which is a text, or two halves of a UUID and a number."""
    if place.get("fileIdEncoding") == _AS_TEXT:
        return str(place["fileId"])
    high, low = (place.get(name) or 0 for name in ("fileIdHighBits", "fileIdLowBits"))
    uuid = UUID(int=(high % 2**64) << 64 | low % 2**64)
    number = place.get("fileIndex") or 0
    return f"{uuid}-{number}" if number != _NO_FILE_INDEX else str(uuid)
