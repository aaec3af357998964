"""`Plots`: the pictures of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.plot.file_groups import file_groups_picture
from hudi_pyspark.plot.timeline import timeline_picture

if TYPE_CHECKING:
    from hudi_pyspark.inspection import Inspection
    from hudi_pyspark.plot.picture import Picture


class Plots:
    """Pictures of a table, shown by notebooks and saved by `Picture.save`.

    Build it with `HudiTable.plot`. Drawing needs the extra ``plot``.

    Args:
        title: of the pictures: what the table is called.
        inspection: of the table.
    """

    def __init__(self, title: str, inspection: Inspection) -> None:
        self._title = title
        self._inspection = inspection

    def timeline(self, *, archived: bool = True) -> Picture:
        """What happened when, a lane per action, and how long each took.

        Before table version 8 a timeline does not tell when an action ended: no durations then.

        Args:
            archived: also instants that have left the active timeline.
        """
        inspection = self._inspection
        return timeline_picture(
            self._title,
            inspection.timeline(archived=archived),
            inspection.commits(archived=archived),
        )

    def file_groups(self) -> Picture:
        """How big each file group is: its base file, the log files that wait for compaction.

        And in grey what lies there of older slices until the cleaner takes it away.
        """
        inspection = self._inspection
        return file_groups_picture(self._title, inspection.file_slices(), inspection.files())
