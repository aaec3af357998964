"""Pictures of a table, drawn from the tables of `HudiTable.inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.plot.charts import file_groups_picture, timeline_picture
from hudi_pyspark.plot.picture import Picture

if TYPE_CHECKING:
    from hudi_pyspark.inspection import Inspection

__all__ = ["Picture", "Plots"]


class Plots:
    """The pictures of a table, shown by notebooks and saved by `Picture.save`.

    `HudiTable.plot` returns it. Drawing needs the extra ``plot``. Every method may raise
    `HudiError` where the files that it reads are missing or corrupt.
    """

    def __init__(self, title: str, inspection: Inspection) -> None:
        self._title = title
        self._inspection = inspection

    def timeline(self, *, archived: bool = True) -> Picture:
        """Return the instants along time, in a lane per action, with their durations.

        Before table version 8 a timeline does not record when an action completed, so there are no
        durations.

        Args:
            archived: include archived instants.
        """
        inspection = self._inspection
        return timeline_picture(
            self._title,
            inspection.timeline(archived=archived),
            inspection.commits(archived=archived),
        )

    def file_groups(self) -> Picture:
        """Return the size of each file group: its base file, and its uncompacted log files.

        The files of older slices, which a clean has not removed yet, are grey.
        """
        inspection = self._inspection
        return file_groups_picture(self._title, inspection.file_slices(), inspection.files())
