"""Metadata of the commits of a timeline, read when needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hudi_pyspark.format.timeline.commit_metadata import CommitMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hudi_pyspark.format.timeline.instant import Instant

# Reading small files waits on the storage, not on the processor.
_READ_THREADS = 16


class LazyMetadata(Mapping[str, CommitMetadata]):
    """Requested time of each commit to its metadata; each file is read at most once.

    Keys cost nothing. A query of few commits thus reads few files, however long the timeline is.
    """

    def __init__(
        self, instants: Iterable[Instant], load: Callable[[Instant], CommitMetadata]
    ) -> None:
        self._instants = {instant.requested_time: instant for instant in instants}
        self._load = load
        self._loaded: dict[str, CommitMetadata] = {}

    def __getitem__(self, time: str) -> CommitMetadata:
        if time not in self._loaded:
            self._loaded[time] = self._load(self._instants[time])
        return self._loaded[time]

    def __iter__(self) -> Iterator[str]:
        return iter(self._instants)

    def __len__(self) -> int:
        return len(self._instants)

    def of(self, times: Iterable[str]) -> dict[str, CommitMetadata]:
        """Return the metadata of some commits, in their order; read together what is missing."""
        ordered = list(times)
        unread = [time for time in ordered if time not in self._loaded]
        if len(unread) > 1:
            instants = [self._instants[time] for time in unread]
            with ThreadPoolExecutor(_READ_THREADS) as pool:
                self._loaded.update(zip(unread, pool.map(self._load, instants), strict=True))
        return {time: self[time] for time in ordered}
