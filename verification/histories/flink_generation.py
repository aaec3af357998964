"""Random histories that Apache Flink writes, by Apache Hudi's bundle for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from verification.histories.column_types import TYPES, ColumnType
from verification.histories.generation import PARTITION_FIELDS, Maker, truth
from verification.histories.history import CHANGE, COMMIT, FAILS, History, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping

FLINK = "flink-0.14.0"

_DDL: Mapping[str, str] = {
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP(6)",
    "decimal": "DECIMAL(12, 2)",
    "big_decimal": "DECIMAL(30, 6)",
    "binary": "BYTES",
    "ints": "ARRAY<INT>",
    "map": "MAP<STRING, BIGINT>",
    "struct": "ROW<a INT, b STRING>",
    "structs": "ARRAY<ROW<a BIGINT, s STRING>>",
}
FLINK_TYPES: Mapping[str, ColumnType] = {
    **{name: replace(TYPES[name], ddl=ddl) for name, ddl in _DDL.items()},
    "tiny": replace(TYPES["int"], ddl="TINYINT"),
    "small": replace(TYPES["int"], ddl="SMALLINT"),
    "millis": replace(TYPES["timestamp"], ddl="TIMESTAMP(3)"),
    "local_millis": replace(TYPES["timestamp"], ddl="TIMESTAMP_LTZ(3)"),
    "local_micros": replace(TYPES["timestamp"], ddl="TIMESTAMP_LTZ(6)"),
}
_PAYLOADS = (
    "EventTimeAvroPayload",  # Flink's own choice
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "PartialUpdateAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
)
_KINDS: Mapping[str, float] = {
    "job": 8,
    "late_job": 3,
    "job_with_twins": 2,
    "job_of_deletes": 1.5,
    "failing_job": 1,
    "add_column": 0.6,
    "insert_overwrite": 0.4,
    "insert_overwrite_table": 0.3,
}
_KINDS_OF_LOGS: Mapping[str, float] = {
    "compact": 2,
    "compact_pending": 0.5,
    "job_that_schedules": 1,
    "job_that_compacts": 0.8,
}
_KINDS_OF_APPENDS: Mapping[str, float] = {"append": 6, "cluster": 2, "add_column": 0.6}


def flink_history(seed: int, number: int) -> History:
    """Make one history for Apache Flink: the same seed and number give the same one."""
    random = Random(f"{seed} {number} {FLINK}")
    return _FlinkMaker(random, FLINK).flink_history(f"h{seed}_{number}")


@dataclass
class _FlinkMaker(Maker):
    """The steps are jobs, with one commit or several."""

    is_append: bool = False
    has_changelog: bool = False

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return FLINK_TYPES

    def flink_history(self, name: str) -> History:
        r = self.random
        self.key_type = self.pick(string=3, int=1, long=1)
        self.ordering = self.pick(
            long=4, int=1, timestamp=1, double=1, decimal=0.5, string=0.5, none=1
        )
        self.partitioning = self.pick(none=2, text=3, two=1, number=1, day=1)
        self.has_two_keys = r.random() < 0.1
        self.keys = r.choice([6, 20, 60])
        self.is_mor = r.random() < 0.8
        self.is_append = not self.is_mor and r.random() < 0.3
        kinds = r.sample(list(self.types), r.randint(2, 6))
        self.columns = {f"c{i}_{kind}": kind for i, kind in enumerate(kinds)}
        options = self.flink_options()
        steps = [self.first_job(), *(self.step() for _ in range(r.randint(1, 4)))]
        return History(name, self.hudi, options, tuple(steps))

    def flink_options(self) -> dict[str, str]:
        """Settings of the table and of every job, in the names of Spark where it has one."""
        r = self.random
        self.ordering_fields = [] if self.ordering == "none" else ["ts"]
        self.partition_values = r.choice([("a", "bc"), ("a", "bc", "d e", "ü", "2024")])
        found = {
            "hoodie.datasource.write.table.type": "MERGE_ON_READ"
            if self.is_mor
            else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id,sub" if self.has_two_keys else "id",
            "hoodie.datasource.write.partitionpath.field": ",".join(
                PARTITION_FIELDS[self.partitioning]
            ),
            "hoodie.datasource.write.precombine.field": ",".join(self.ordering_fields),
            "hoodie.datasource.write.hive_style_partitioning": truth(r.random() < 0.4),
            "hoodie.metadata.enable": truth(r.random() < 0.4),
        }
        if r.random() < 0.3:
            found["hoodie.datasource.write.partitionpath.urlencode"] = "true"
        if self.ordering_fields and r.random() < 0.5:
            found["hoodie.datasource.write.payload.class"] = (
                "org.apache.hudi.common.model." + r.choice(_PAYLOADS)
            )
        if self.is_append:
            return found | self.append_options()
        return found | self.flink_index_options() | self.log_options() | self.cleaning_options()

    def append_options(self) -> dict[str, str]:
        r = self.random
        found = {"write.operation": "insert", "write.insert.cluster": truth(r.random() < 0.4)}
        if r.random() < 0.5:  # a table without keys
            found["hoodie.datasource.write.recordkey.field"] = ""
        return found

    def flink_index_options(self) -> dict[str, str]:
        r, index = self.random, self.pick(state=3, no_bootstrap=0.4, bucket=2, consistent=1)
        self.is_global = False
        if index in ("state", "no_bootstrap"):
            self.is_global = r.random() < 0.25
            return {
                "hoodie.index.type": "FLINK_STATE",
                "index.global.enabled": truth(self.is_global),
                "index.bootstrap.enabled": truth(index == "state"),
            }
        found = {
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": str(r.choice([1, 2, 3])),
        }
        if index == "consistent" and self.is_mor:
            found["hoodie.index.bucket.engine"] = "CONSISTENT_HASHING"
        return found

    def log_options(self) -> dict[str, str]:
        r, found = self.random, {}
        self.has_changelog = r.random() < 0.25
        if self.has_changelog:
            found["changelog.enabled"] = "true"
        if r.random() < 0.15:
            found["hoodie.table.cdc.enabled"] = "true"
            found["hoodie.table.cdc.supplemental.logging.mode"] = r.choice(
                ["OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"]
            )
        if self.is_mor and r.random() < 0.2:
            found["hoodie.logfile.data.block.format"] = "parquet"
        if r.random() < 0.25:
            found["write.batch.size"] = "0.002"  # megabytes: several flushes per commit
        return found

    def cleaning_options(self) -> dict[str, str]:
        if self.random.random() < 0.75:
            return {"clean.async.enabled": "false", "hoodie.clean.automatic": "false"}
        found = {"clean.retain_commits": "1"}
        if self.random.random() < 0.5:
            found |= {"archive.min_commits": "3", "archive.max_commits": "4"}
        return found

    def first_job(self) -> Step:
        if self.is_append:
            return self.append()
        if self.random.random() < 0.15:
            return self.batch(StepKind.BULK_INSERT)
        return self.job(count=self.keys // self.random.choice([1, 2]))

    def step(self) -> Step:
        self.made += 1
        weights = {**_KINDS, **(_KINDS_OF_LOGS if self.is_mor else {})}
        name = self.pick(**(_KINDS_OF_APPENDS if self.is_append else weights))
        step: Step = getattr(self, name)()
        return step

    def job(self, late: float = 0.2, **more: Any) -> Step:
        """Make a job of one to three commits; `more` are the fields of the step."""
        deletes, twins = more.pop("deletes", 0.15), more.pop("twins", False)
        count = more.pop("count", 0)
        columns = self.all_columns()
        rows = [
            (commit, *change)
            for commit in range(more.pop("commits", self.random.randint(1, 3)))
            for row in self.rows(count or self.some(), columns, late=late, twins=twins)
            for change in self.changes(row, deletes)
        ]
        kind = more.pop("kind", StepKind.UPSERT)
        return Step(kind, (COMMIT, CHANGE, *columns), tuple(rows), **more)

    def changes(self, row: tuple[Any, ...], deletes: float) -> list[tuple[Any, ...]]:
        """Return the row with its kind, after the row that it replaces in a changelog."""
        r = self.random
        if r.random() < deletes:
            return [("-D", *row)]
        if not self.has_changelog or r.random() < 0.5:
            return [(r.choice(["+I", "+U"]), *row)]
        after = ("+U", *row)
        return [("-U", *row), after] if r.random() < 0.8 else [("-U", *row)]

    def late_job(self) -> Step:
        return self.job(late=0.8)

    def job_with_twins(self) -> Step:
        return self.job(twins=True)

    def job_of_deletes(self) -> Step:
        return self.job(deletes=0.7, late=0.5)

    def failing_job(self) -> Step:
        return self.job(commits=1, text=FAILS, options={"write.batch.size": "0.0005"})

    def job_that_schedules(self) -> Step:
        options = {"compaction.schedule.enabled": "true", "compaction.delta_commits": "1"}
        return self.job(options=options)

    def job_that_compacts(self) -> Step:
        options = {
            "compaction.schedule.enabled": "true",
            "compaction.async.enabled": "true",
            "compaction.delta_commits": str(self.random.randint(1, 2)),
        }
        return self.job(options=options)

    def add_column(self) -> Step:
        kind = self.random.choice(list(self.types))
        self.columns[f"a{len(self.columns)}_{kind}"] = kind
        return self.append() if self.is_append else self.job()

    def append(self) -> Step:
        return self.job(kind=StepKind.INSERT, deletes=0.0)

    def batch(self, kind: StepKind) -> Step:
        columns = self.all_columns()
        rows = self.rows(self.some(), columns, late=0.2, twins=False)
        return Step(kind, columns, rows)

    def insert_overwrite_table(self) -> Step:
        return self.batch(StepKind.INSERT_OVERWRITE_TABLE)

    def insert_overwrite(self) -> Step:
        """Make a step that overwrites one partition, whose value all rows have."""
        fields = PARTITION_FIELDS[self.partitioning]
        if len(fields) != 1:
            return self.insert_overwrite_table()
        step = self.batch(StepKind.INSERT_OVERWRITE)
        place = [column.name for column in step.columns].index(fields[0])
        value = step.rows[0][place]
        rows = tuple((*row[:place], value, *row[place + 1 :]) for row in step.rows)
        return replace(step, rows=rows, text=fields[0])

    def compact(self) -> Step:
        return Step(StepKind.COMPACT, text="schedule")

    def compact_pending(self) -> Step:
        return Step(StepKind.COMPACT)

    def cluster(self) -> Step:
        return Step(StepKind.CLUSTER)
