"""Leave out file slices whose bucket cannot have a record key, by laws that the table itself shows.

A bucket index puts a record into the file group that a hash of its key chooses: of N groups of a
partition, the one whose file id begins with ``hash mod N`` (*simple*), or the one whose arc of a
ring has the hash (*consistent*, see `hashing_rings`). No file of a table says that it has such an
index, what N is, which fields are hashed, or by which rule their values are taken from the key. So
a partition is asked what its *law* is, by some of its keys:

=============  =====================================================================================
Candidates     Each subset of the key fields with each `Rule`, or the fields that the caller names.
Evidence       Keys of files of the same partition: of each commit that its files show, and of at
               least two slices; of `_SAMPLED_IF_MIXED` if base files have rows of several commits.
               The writer of a commit has one number of buckets. The lowest buckets come first: if
               there were several numbers, they have the keys of the smallest one.
Proof          A candidate is a law if all keys fit: g, the greatest common divisor of hash - bucket
               over all keys, is above the largest bucket of the partition; on a ring, each hash is
               on the arc of its file group. There must be `_LEAST_KEYS` different hashes, so that a
               wrong candidate fits with a probability of at most 2 to the power of -40. If one key
               fits no candidate, or evidence is missing or costs too much, nothing is pruned.
Conclusion     N divides each hash - bucket, and so g; and it is above the largest bucket. A slice
               stays if its bucket is ``hash mod d`` for any such divisor d of g, by any law that
               was shown. So it stays whichever of them is N, although files name none of them.
=============  =====================================================================================

A slice that is left out cannot have a row of the key, even if none of its own keys was looked at.
Its file id begins with a bucket below g, so a writer of this index made it; its commits used the N
of the evidence, since keys of all commits that files show have been looked at; and Apache Hudi lets
writers change N only by a rescale or an overwrite, which replaces all file groups of the partition.
A filter on key fields asks for keys by the texts of their values, so it leaves out slices only if
the keys of the evidence are made of these texts.
Slices whose ids are no buckets are never left out: those of other indexes, of bulk inserts and of
clustering.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.format.bucket_keys import bucket_of, is_uuid_of_name
from hudi_pyspark.planning.bucket_laws import (
    LEAST_KEYS,
    HashingRing,
    Law,
    Layout,
    SimpleBuckets,
    candidates,
    find_laws,
)
from hudi_pyspark.storage.protocol import read_together
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.hashing_rings import load_rings
from hudi_pyspark.table.stored_keys import FAILURES, StoredKeys, keys_or_reason
from hudi_pyspark.wording import counted

if TYPE_CHECKING:
    from hudi_pyspark.filter.requested_keys import RequestedKeys
    from hudi_pyspark.table.view import TableView

COUNT_OPTION = "hoodie.bucket.index.num.buckets"
FIELDS_OPTION = "hoodie.bucket.index.hash.field"
_SAMPLED_IF_MIXED = 8
_SAMPLES = (2, _SAMPLED_IF_MIXED, 32)  # slices whose keys are looked at, until there are enough
_SHARE = 4  # of the files of a partition, one in so many is read, or `_FEW_FILES`
_FEW_FILES = 8
_FEW_SLICES = 4  # of which not enough are left out to be worth a proof
_MOST_FILES = 512  # whose keys one plan reads
_LARGE = 16 << 20  # bytes of slices that are worth a proof even if there are few
_GLANCED = 8  # slices, to see whether they may have the index

_File: TypeAlias = BaseFile | LogFile
_Found: TypeAlias = dict[str, StoredKeys | str]  # by path: keys of a file, or why there are none


@dataclass(frozen=True, slots=True)
class ToldBuckets:
    """What the caller says of the index, by options of Apache Hudi."""

    count: int = 0  # of the buckets of each partition; 0 if the table is to show it
    hash_fields: tuple[str, ...] = ()  # () if the table is to show them


@dataclass(frozen=True, slots=True)
class Verdict:
    """All laws that the keys of a partition fit; one of them is that of its writers."""

    laws: tuple[Law, ...]  # () if no slice may be left out
    reason: str  # why there are none; "" if there are laws
    names_field: bool = False  # keys of a single field begin with its name
    have_texts_of_fields: bool = True  # false if a key differs from the texts of its key fields
    needs_more: bool = False  # more keys may show a law

    def rules_out(self, slices: Sequence[FileSlice], requested: RequestedKeys) -> set[int]:
        """Return the slices, by identity, that have none of some record keys by any law."""
        known = [s for s in slices if self.laws and self.laws[0].layout.knows(s.file_id)]
        left_out = {id(s) for s in known}
        if requested.record_keys is None and not self.have_texts_of_fields:
            return set()
        for law in self.laws:
            rows = requested.values(*law.candidate, names_field=self.names_field)
            if rows is None:
                return set()
            may_have = law.layout.may_have(law.layout.hashes(rows))
            left_out -= {id(s) for s in known if may_have(s.file_id)}
        return left_out


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition that seems to have the index."""

    layout: Layout  # what is known before keys are looked at
    slices: Sequence[FileSlice]  # in its file groups, by file id

    @property
    def files(self) -> list[tuple[str, _File]]:
        """File id and file of each slice, slice by slice."""
        return [(s.file_id, file) for s in self.slices for file in s.files]

    def first_files(self, count: int) -> list[tuple[str, _File]]:
        """Return the first files of the slices with the lowest buckets.

        If writers had several numbers of buckets, the keys of the smallest number are there.
        """
        return [(s.file_id, s.files[0]) for s in self.slices[:count]]


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Files of a partition, whose keys are to show its laws."""

    files: Mapping[str, tuple[str, _File]]  # by path: file id and file
    commits: frozenset[str] = frozenset()  # whose keys have to be among those of the files


@dataclass(frozen=True, slots=True)
class BucketIndex:
    """Leaves out slices of a table by the laws of its partitions."""

    view: TableView  # keeps the verdicts
    key_fields: tuple[str, ...]  # that make up record keys
    keys_are_stored: bool  # in the files
    told: ToldBuckets

    def prune(
        self, slices: Sequence[FileSlice], requested: RequestedKeys
    ) -> tuple[Sequence[FileSlice], list[str]]:
        """Return the slices that can have rows with one of some record keys, and notes.

        Args:
            slices: of one state of the table.
            requested: the only keys that can pass the filter.

        Raises:
            InvalidOptionError: the table contradicts what the caller says of its buckets.
        """
        if others := [name for name in self.told.hash_fields if name not in self.key_fields]:
            raise self._contradiction(f"{', '.join(others)} is no field of the record key")
        by_partition: dict[str, list[FileSlice]] = defaultdict(list)
        for file_slice in slices:
            by_partition[file_slice.partition_path].append(file_slice)
        verdicts = self._verdicts(by_partition)
        left_out: set[int] = set()
        for path, verdict in verdicts.items():
            left_out |= verdict.rules_out(by_partition[path], requested)
        kept_slices = [s for s in slices if id(s) not in left_out]
        return kept_slices, _notes([*verdicts.values()], len(left_out), len(slices))

    def _verdicts(self, slices: Mapping[str, Sequence[FileSlice]]) -> dict[str, Verdict]:
        """Return what the partitions show that seem to have the index, by their paths."""
        kept = self.view.history.bucket_verdicts
        keys = {
            path: (self.told, path, *(file.path for s in of_path for file in s.files))
            for path, of_path in slices.items()
            if seem_bucketed(of_path)
        }
        undecided: dict[str, _Partition] = {}
        for path in [path for path, key in keys.items() if key not in kept]:
            partition = self._partition(path, slices[path])
            if isinstance(partition, _Partition):
                undecided[path] = partition
            else:
                kept[keys[path]] = partition
        found: _Found = {}
        for sampled in _SAMPLES:
            asked = self._asked(undecided, sampled, len(found))
            found |= self._read(asked.values(), found.keys())
            for path, evidence in asked.items():
                kept[keys[path]] = self._verdict(undecided[path], evidence, found)
            undecided = {path: undecided[path] for path in asked if kept[keys[path]].needs_more}
        return {path: verdict for path, key in keys.items() if (verdict := kept.get(key))}

    def _asked(
        self, partitions: Mapping[str, _Partition], sampled: int, read_files: int
    ) -> dict[str, _Evidence]:
        """Return the evidence of partitions that may be looked at, as long as files are few."""
        asked = {}
        for path, partition in partitions.items():
            evidence = self._evidence(partition, sampled)
            read_files += len(evidence.files)
            if read_files <= _MOST_FILES:
                asked[path] = evidence
        return asked

    def _partition(self, path: str, slices: Sequence[FileSlice]) -> _Partition | Verdict | None:
        """Return a partition that seems to have the index, unless nothing is to be gained.

        Raises:
            InvalidOptionError: a bucket is not below the number of buckets that the caller says.
        """
        buckets = [bucket for s in slices if (bucket := bucket_of(s.file_id)) is not None]
        layout: Layout
        if 2 * len(buckets) >= len(slices):
            count = self.told.count
            least = 1 + max(buckets)
            if count and least > count:
                raise self._contradiction(f"partition {path!r} has a bucket {least - 1}")
            layout = SimpleBuckets(least, (count,) if count else ())
        else:
            try:
                layout = HashingRing(load_rings(self.view.storage, path))
            except FAILURES as error:
                return Verdict((), str(error))
        known = sorted((s for s in slices if layout.knows(s.file_id)), key=lambda s: s.file_id)
        size = sum(file.size for s in known for file in s.files)
        if len(known) < 2 or (len(known) <= _FEW_SLICES and size < _LARGE):
            return None
        partition = _Partition(layout, known)
        evidence = self._evidence(partition, _SAMPLES[0])
        if len(evidence.files) > max(_FEW_FILES, len(partition.files) // _SHARE):
            return Verdict((), f"keys of {len(evidence.files)} files would have to be looked at")
        return partition

    def _evidence(self, partition: _Partition, sampled: int) -> _Evidence:
        """Choose files of some slices, and then one of each commit that these files do not show."""
        chosen = {file.path: (file_id, file) for file_id, file in partition.first_files(sampled)}
        if self.told.count:
            return _Evidence(chosen)
        seen = frozenset().union(*(self._commits(file) for _, file in chosen.values()))
        for file_id, file in partition.files:
            if new := self._commits(file) - seen:
                chosen[file.path] = file_id, file
                seen |= new
        return _Evidence(chosen, seen)

    def _commits(self, file: _File) -> frozenset[str]:
        """Return the commits that wrote the keys of a file, as far as they are known."""
        if isinstance(file, BaseFile):
            return frozenset({file.instant_time})
        known = frozenset({file.committed_by, file.first_committed_by} - {""})
        # Before version 8, the name has the instant of the slice.
        is_named = not known and self.view.config.has_completion_times
        return frozenset({file.instant_time}) if is_named else known

    def _read(self, evidence: Iterable[_Evidence], known: Collection[str]) -> _Found:
        """Read keys of the files that are not known, by path."""
        files = {path: file for e in evidence for path, (_, file) in e.files.items()}
        paths = [path for path in files if path not in known]
        is_local = self.view.storage.is_local
        return dict(read_together(lambda p: self._keys(files[p]), paths, is_local=is_local))

    def _keys(self, file: _File) -> StoredKeys | str:
        """Return keys of a file, or why it cannot be read."""
        return keys_or_reason(
            self.view.storage, file, self.key_fields, keys_are_stored=self.keys_are_stored
        )

    def _verdict(self, partition: _Partition, evidence: _Evidence, found: _Found) -> Verdict:
        """Return what the keys of the evidence show.

        Raises:
            InvalidOptionError: a key contradicts what the caller says.
        """
        keys: list[tuple[str, str]] = []
        commits: set[str] = set()
        is_mixed = False
        have_texts = True
        for path, (file_id, _) in evidence.files.items():
            of_file = found[path]
            if isinstance(of_file, str):
                return Verdict((), of_file)
            keys += [(file_id, key) for key in of_file.keys]
            commits |= of_file.instants
            is_mixed |= not of_file.is_of_one_commit
            have_texts &= of_file.have_texts_of_fields
        if missing := evidence.commits - commits:
            return Verdict((), f"the keys of commit {min(missing)} are not where its files begin")
        possible = candidates(self.key_fields, self.told.hash_fields)
        laws, is_contradicted = find_laws(partition.layout, keys, possible)
        files = counted(len(evidence.files), "file")
        if is_contradicted and self.told != ToldBuckets():
            place = self.view.storage.describe(min(evidence.files))
            raise self._contradiction(f"keys of {files} such as {place} are in other buckets")
        if not laws:
            problem = (
                "fit no buckets" if is_contradicted else f"have fewer than {LEAST_KEYS} hashes"
            )
            reason = f"the keys of {files} {problem}"
            return Verdict((), reason, needs_more=not is_contradicted)
        sampled = len({file_id for file_id, _ in evidence.files.values()})
        if (
            is_mixed
            and not self.told.count
            and sampled < min(_SAMPLED_IF_MIXED, len(partition.slices))
        ):
            return Verdict((), "more files would have to be looked at", needs_more=True)
        name = f"{self.key_fields[0]}:" if self.key_fields else ""
        return Verdict(
            laws,
            "",
            names_field=any(key.startswith(name) for _, key in keys),
            have_texts_of_fields=have_texts,
        )

    def _contradiction(self, found: str) -> InvalidOptionError:
        given = {COUNT_OPTION: self.told.count, FIELDS_OPTION: ",".join(self.told.hash_fields)}
        told = " and ".join(f"{option} is {value!r}" for option, value in given.items() if value)
        return InvalidOptionError(
            f"{told}, but {found}",
            advice="Leave out the options of the bucket index: the table shows its buckets",
        )


def seem_bucketed(slices: Sequence[FileSlice]) -> bool:
    """Return whether some file ids begin with a bucket, or have the form of those of a ring.

    Tables of other indexes have none, and pay no more than this.
    """
    file_ids = (s.file_id for s in slices[:: len(slices) // _GLANCED or 1])
    return any(bucket_of(file_id) is not None or is_uuid_of_name(file_id) for file_id in file_ids)


def _notes(verdicts: Sequence[Verdict], left_out: int, count: int) -> list[str]:
    """Say what the index did, and why it was believed or not."""
    shown = {f"{law}": None for verdict in verdicts for law in verdict.laws}
    reasons = {verdict.reason: None for verdict in verdicts if verdict.reason}
    notes = []
    if shown:
        notes.append(
            f"{left_out} of {count} file slices by the bucket index ({'; '.join(shown)}, as keys "
            "in each partition show)"
        )
    if reasons:
        notes.append(f"nothing by the bucket index of some partitions: {min(reasons)}")
    return notes
