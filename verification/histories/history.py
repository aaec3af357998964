"""A history: how a table is made and what is done to it, a value apart from its execution."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from verification.histories.column_types import Json


class StepKind(str, Enum):
    """What a step does; the first step of a history creates the table."""

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"
    BOOTSTRAP = "bootstrap"
    SQL = "sql"
    MERGE_INTO = "merge_into"
    COMPACT = "compact"
    SCHEDULE_COMPACTION = "schedule_compaction"
    CLUSTER = "cluster"
    SCHEDULE_CLUSTERING = "schedule_clustering"
    CLEAN = "clean"
    ARCHIVE = "archive"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    RESTORE = "restore"
    TABLE_TYPE = "table_type"  # the property of the table, as users edit it; its text is the value
    # What happens to the files of golden tables alone.
    EDIT_PROPERTIES = "edit_properties"  # as by hand; the options are the properties
    LOSE_COMPLETION = "lose_completion"  # of the last commit, as if its writer had died before
    LOSE_INSTANT = "lose_instant"  # all its files on the timeline; the text is an ordinal


# Kinds of steps that random histories do not draw.
OF_GOLDEN_TABLES = frozenset(
    {StepKind.EDIT_PROPERTIES, StepKind.LOSE_COMPLETION, StepKind.LOSE_INSTANT}
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows that a step writes."""

    name: str
    type: str  # a key of column_types.TYPES


_SERVICES = frozenset(
    {
        "hoodie.compact.inline",
        "hoodie.log.compaction.inline",
        "compaction.async.enabled",
        "compaction.schedule.enabled",
    }
)
# Columns of a Flink job that are not the table's: which commit has the row, and its kind.
COMMIT = Column("_commit", "int")
CHANGE = Column("_change", "string")
# Text of a write before which the metadata table is kept aside, and after which it is put back.
LAGS = "lags"
TOGETHER = "together"  # text of writes that begin at the same time as those beside them
FAILS = "fails"  # text of a Flink job that ends after its rows were flushed, before the commit


@dataclass(frozen=True, slots=True)
class Step:
    """One thing done to the table. Every step has its own columns, so any other can be dropped."""

    kind: StepKind
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Json, ...], ...] = ()  # one value per column
    options: Mapping[str, str] = field(default_factory=dict)  # besides those of the history
    files: int = 1  # partitions of the DataFrame
    # SQL: a statement with {table}. MERGE INTO: its clauses. Partition or instant to choose: an
    # ordinal, taken modulo how many there are.
    text: str = ""
    hudi: str = ""  # release that does it; "" for the history's
    is_elsewhere: bool = False  # done by another process

    @property
    def label(self) -> str:
        extra = [key.split(".")[1] for key in sorted({*self.options} & _SERVICES)]
        if "hoodie.metadata.enable" in self.options:
            extra.append(f"metadata={self.options['hoodie.metadata.enable']}")
        told = [self.text] if self.text in (FAILS, LAGS) else []
        if self.kind is StepKind.TABLE_TYPE or self.text.startswith("CALL "):
            told = [self.text]
        if self.is_elsewhere:
            told.append("elsewhere")
        return "+".join([self.kind.value, *extra, *told]) + (self.hudi and f" by {self.hudi}")


@dataclass(frozen=True, slots=True)
class History:
    """A table's settings and its steps."""

    name: str
    hudi: str  # release that writes it; several with + between: each step names its own
    options: Mapping[str, str]  # of every write; some only of the first, see steps.toml
    steps: tuple[Step, ...]

    @property
    def table_version(self) -> int:
        """The version that the table is created with."""
        return int(self.options.get("hoodie.write.table.version", "6"))

    @property
    def is_merge_on_read(self) -> bool:
        return self.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ"

    @property
    def is_hive_style(self) -> bool:
        return self.options.get("hoodie.datasource.write.hive_style_partitioning") == "true"

    def partition_path(self, values: Mapping[str, Json]) -> str:
        """The folder of a row whose values need no encoding."""
        begin = "{}=" if self.is_hive_style else ""
        folders = (f"{begin.format(f)}{values[f]}" for f in self.partition_fields)
        return "/".join(folders)

    @property
    def has_cdc(self) -> bool:
        return self.options.get("hoodie.table.cdc.enabled") == "true"

    @property
    def record_keys(self) -> tuple[str, ...]:
        return _names(self.options["hoodie.datasource.write.recordkey.field"])

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return _names(self.options.get("hoodie.datasource.write.partitionpath.field", ""))

    @property
    def ordering_fields(self) -> tuple[str, ...]:
        return _names(self.options.get("hoodie.datasource.write.precombine.field", ""))

    @property
    def needed_columns(self) -> frozenset[str]:
        """Columns that the table cannot do without."""
        return frozenset((*self.record_keys, *self.partition_fields, *self.ordering_fields))

    def column_type(self, name: str) -> str:
        """The last type of a column; "" if no step has it."""
        columns = {c.name: c.type for step in self.steps for c in step.columns}
        return columns.get(name, "")

    @property
    def image_columns(self) -> frozenset[str]:
        """Columns whose values Apache Hudi writes in one form into the images of changes."""
        columns = {c for step in self.steps for c in step.columns}
        others = {c.name for c in columns if c.type not in ("int", "long", "boolean", "string")}
        return frozenset(c.name for c in columns) - others

    def with_steps(self, steps: tuple[Step, ...]) -> History:
        return replace(self, steps=steps)


def version_options(version: int) -> dict[str, str]:
    """Return what makes a release write an older version than its own, and keep it."""
    return {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def to_json(history: History) -> dict[str, Any]:
    return asdict(history)


def from_json(found: Mapping[str, Any]) -> History:
    """The inverse of `to_json`, also of what went through JSON text, where tuples are lists."""
    return History(
        found["name"],
        found["hudi"],
        dict(found["options"]),
        tuple(_step(step) for step in found["steps"]),
    )


def _step(found: Mapping[str, Any]) -> Step:
    kind = StepKind(found["kind"])
    columns = tuple(Column(**column) for column in found["columns"])
    rows = tuple(tuple(row) for row in found["rows"])
    return Step(**{**found, "kind": kind, "columns": columns, "rows": rows})


def load_history(path: Path) -> History:
    """Read a history, from a separate file or out of a failure's file."""
    found = json.loads(path.read_text())
    return from_json(found.get("history", found))
