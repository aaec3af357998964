"""`ArchivedCommits`: whether a commit is archived, asked of the archive only if it matters."""

from dataclasses import dataclass

from hudi_pyspark.cached_property import PickledWithoutCache, cached_property
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, RequestedTime
from hudi_pyspark.storage.protocol import Storage


@dataclass(eq=False)
class ArchivedCommits(PickledWithoutCache):
    """The requested times of archived commits. Travels with tasks; loads the archive when asked.

    The fields are the arguments of `table.archive.load_archive`.
    """

    storage: Storage
    layout: int
    folders: tuple[str, ...]
    since: str

    def __contains__(self, time: object) -> bool:
        """Decide whether an archived commit was requested at a time."""
        return time in self._times

    @cached_property
    def _times(self) -> frozenset[RequestedTime]:
        from hudi_pyspark.table.archive import load_archive  # noqa: PLC0415  (few tasks ask)

        archived = load_archive(self.storage, self.layout, self.folders, self.since)
        return frozenset(i.requested_time for i in archived if i.action in COMMIT_ACTIONS)
