"""Random histories that Apache Flink writes, by Apache Hudi's bundle for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verification.common.data import load_data
from verification.histories.column_types import TYPES, ColumnType
from verification.histories.generation import PARTITION_FIELDS, Maker
from verification.histories.history import CHANGE, COMMIT, Step, StepKind

FLINK = "flink-0.14.0"

_DDL = load_data(__file__, "flink_jobs.toml")["types"]
FLINK_TYPES: Mapping[str, ColumnType] = {
    **{name: replace(TYPES[name], ddl=ddl) for name, ddl in _DDL.items()},
    "tiny": replace(TYPES["int"], ddl="TINYINT"),
    "small": replace(TYPES["int"], ddl="SMALLINT"),
    "millis": replace(TYPES["timestamp"], ddl="TIMESTAMP(3)"),
    "local_millis": replace(TYPES["timestamp"], ddl="TIMESTAMP_LTZ(3)"),
    "local_micros": replace(TYPES["timestamp"], ddl="TIMESTAMP_LTZ(6)"),
}


@dataclass
class FlinkMaker(Maker):
    """Makes a history whose steps are jobs, with one commit or several."""

    is_append: bool = False
    has_changelog: bool = False

    def options(self) -> dict[str, str]:
        """Draw settings of the table and of every job, in the names of Spark where it has one."""
        found = super().options()
        self.is_append = found.get("write.operation") == "insert"
        self.has_changelog = "changelog.enabled" in found
        self.is_global = found.get("index.global.enabled") == "true"
        if self.is_append and self.random.random() < 0.5:  # a table without keys
            found["hoodie.datasource.write.recordkey.field"] = ""
        return found

    def version_options(self) -> dict[str, str]:
        """Flink's release knows no other version than its own."""
        return {}

    def weights(self) -> dict[str, float]:
        if self.is_append:
            return {"upsert": 6, "cluster": 2, "add_column": 0.6}
        return super().weights()

    def write(
        self,
        kind: str = "upsert",
        count: int = 0,
        *,
        late: float = 0.2,
        twins: bool = False,
        options: Mapping[str, str] | None = None,
        text: str = "",
        commits: int = 0,
        deletes: float = 0.15,
    ) -> Step:
        """Make a job, which appends if the table has no keys to find.

        Args:
            kind: of the step; those other than upserts have one commit of inserts.
            count: of the rows of a commit; 0 for some.
            late: probability of a low ordering value.
            twins: whether a key may come more than once in a commit.
            options: of the job.
            text: of the step.
            commits: how many there are; 0 for one to three.
            deletes: probability of a delete.
        """
        columns = self.all_columns()
        if kind != "upsert" and not self.is_append:
            rows = self.rows(count or self.some(), columns, late=late, twins=twins)
            return Step(StepKind(kind), columns, rows)
        changes = [
            (commit, *change)
            for commit in range(commits or self.random.randint(1, 3))
            for row in self.rows(count or self.some(), columns, late=late, twins=twins)
            for change in self.changes(row, 0.0 if self.is_append else deletes)
        ]
        of_job = StepKind.INSERT if self.is_append else StepKind.UPSERT
        return Step(of_job, (COMMIT, CHANGE, *columns), tuple(changes), options or {}, text=text)

    def changes(self, row: tuple[Any, ...], deletes: float) -> list[tuple[Any, ...]]:
        """Return the row with its kind, after the row that it replaces in a changelog."""
        r = self.random
        if r.random() < deletes:
            return [("-D", *row)]
        if not self.has_changelog or r.random() < 0.5:
            return [(r.choice(["+I", "+U"]), *row)]
        after = ("+U", *row)
        return [("-U", *row), after] if r.random() < 0.8 else [("-U", *row)]

    def job_that_compacts(self) -> Step:
        options = {
            "compaction.schedule.enabled": "true",
            "compaction.async.enabled": "true",
            "compaction.delta_commits": str(self.random.randint(1, 2)),
        }
        return self.write(options=options)

    def insert_overwrite(self) -> Step:
        """Make a step that overwrites one partition, whose value all rows have."""
        fields = PARTITION_FIELDS[self.partitioning]
        if len(fields) != 1:
            return self.write("insert_overwrite_table")
        step = self.write("insert_overwrite")
        place = [column.name for column in step.columns].index(fields[0])
        value = step.rows[0][place]
        rows = tuple((*row[:place], value, *row[place + 1 :]) for row in step.rows)
        return replace(step, rows=rows, text=fields[0])

    def compact(self) -> Step:
        return Step(StepKind.COMPACT, text="schedule")

    def compact_pending(self) -> Step:
        return Step(StepKind.COMPACT)
