"""Random histories: the same seed, number and release always give the same history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from verification.histories.column_types import TYPES, ColumnType, Json, long_text
from verification.histories.history import LAGS, Column, History, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PAYLOADS = (
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "PartialUpdateAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "EventTimeAvroPayload",
    "FirstValueAvroPayload",
)
# Those that look at columns of their own, which a full load may lack.
_PAYLOAD_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "AWSDmsAvroPayload": {"Op": "string"},
    "debezium.MySqlDebeziumAvroPayload": {
        "_change_operation_type": "string",
        "_event_seq": "string",
    },
    "debezium.PostgresDebeziumAvroPayload": {
        "_change_operation_type": "string",
        "_event_lsn": "long",
    },
}
_MODEL = "org.apache.hudi.common.model."
_UNTIL_1_0 = frozenset({"FirstValueAvroPayload"})  # the bundles of later releases lack it
PARTITION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "text": ("p",),
    "two": ("p", "q"),
    "number": ("q",),
    "day": ("day",),
    "ordering": ("ts",),
}
_PLAIN_VALUES = ("a", "bc", "d e", "ü", "2024", "x" * 200)
_ODD_VALUES = ("a", "d e", "ü", "50%", "x=1", "a+b", "50%20", "#")
_NO_VALUES = ("a", "bc", None, "")
_CDC_MODES = ("op_key_only", "data_before", "data_before_after")
_WRITES = frozenset(
    {
        StepKind.UPSERT,
        StepKind.INSERT,
        StepKind.BULK_INSERT,
        StepKind.DELETE,
        StepKind.INSERT_OVERWRITE,
        StepKind.INSERT_OVERWRITE_TABLE,
        StepKind.BOOTSTRAP,
        StepKind.MERGE_INTO,
    }
)
_KINDS: Mapping[str, float] = {
    "upsert": 7,
    "late_upsert": 3,
    "upsert_of_twins": 1.5,
    "insert": 1,
    "bulk_insert": 0.4,
    "delete": 2,
    "late_delete": 1,
    "insert_overwrite": 0.6,
    "insert_overwrite_table": 0.4,
    "delete_partition": 0.5,
    "add_column": 0.8,
    "widen_column": 0.7,
    "drop_column": 0.7,
    "add_column_again": 1.8,
    "sql_update": 0.7,
    "sql_delete": 0.5,
    "merge_into": 0.8,
    "cluster": 0.5,
    "schedule_clustering": 0.7,
    "clean": 0.3,
    "archive": 0.3,
    "rollback": 0.5,
    "savepoint": 0.3,
    "restore": 0.3,
    "without_metadata_table": 0.4,
    "with_metadata_table": 0.4,
    "switch_indexes": 0.5,
    "change_version": 0.4,
    "change_table_type": 0.25,
}
_CALENDARS = ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite")
_ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
_VERSIONS = {5: "FIVE", 6: "SIX", 8: "EIGHT", 9: "NINE"}
# Beginnings of ordering values, to which small numbers are added.
_LONG_BASES = (0, 0, 0, -(2**63), 2**63 - 1000, -(2**53) - 10)
_MOMENT_BASES = (
    "2024-01-01", "2024-01-01", "1969-12-31T23:59:50", "1582-10-14T23:59:50",
    "1883-11-18T12:03:50", "1001-01-01", "9999-11-01",
)  # fmt: skip
_KINDS_OF_LOGS: Mapping[str, float] = {
    "compact": 1.2,
    "upsert_and_compact": 0.8,
    "schedule_compaction": 0.8,
    "upsert_and_compact_logs": 0.4,
    "compact_elsewhere": 0.6,
}


def random_history(seed: int, number: int, hudi: str) -> History:
    """Make one history that a release of Apache Hudi can be asked to write."""
    return Maker(Random(f"{seed} {number} {hudi}"), hudi).history(f"h{seed}_{number}")


def table_versions(hudi: str) -> tuple[int, ...]:
    """Table versions that a release, or the first of several, creates; common ones more often."""
    release = _release(hudi.partition("+")[0])
    if release < (1,):
        return (6,)
    return (6, 8) if release < (1, 1) else (6, 8, 9, 9)


def _release(hudi: str) -> tuple[int, ...]:
    return tuple(int(part) for part in hudi.split("."))


@dataclass
class Maker:
    """What the steps of a history have in common while they are made."""

    random: Random
    hudi: str
    columns: dict[str, str] = field(default_factory=dict)  # data columns: name to type
    dropped: dict[str, str] = field(default_factory=dict)  # likewise, that the table once had
    has_long_keys: bool = False
    has_long_ordering: bool = False
    ordering_base: int = 0
    moment_base: str = "2024-01-01"
    version: int = 6
    marks_deletes: bool = False
    payload_columns: Mapping[str, str] = field(default_factory=dict)  # of the payload class
    loads_without_them: bool = False  # in the first step, which is a bulk insert then
    is_global: bool = False
    repeats_keys: bool = False  # writes a key into several partitions, more often than not
    plans_clustering: bool = False  # has scheduled a clustering that has not run
    made: int = 0

    @property
    def types(self) -> Mapping[str, ColumnType]:
        return TYPES

    def history(self, name: str) -> History:
        r, hudi = self.random, self.hudi
        self.releases = hudi.split("+")
        self.hudi, *later = self.releases
        self.version = r.choice(table_versions(self.hudi))
        self.key_type = self.pick(string=3, int=1, long=1)
        self.ordering = self.pick(
            long=4, int=1, timestamp=1, double=1, decimal=0.5, string=0.7, date=0.4, none=2,
            two=1 if self.version == 9 else 0,
        )  # fmt: skip
        self.partitioning = self.pick(none=2, text=3, two=1, number=1, day=1)
        if self.ordering in ("long", "int") and r.random() < 0.06:
            self.partitioning = "ordering"
        self.has_two_keys = r.random() < 0.1
        self.has_long_keys = self.key_type == "string" and r.random() < 0.15
        self.has_long_ordering = r.random() < 0.3
        self.ordering_base = r.choice(_LONG_BASES) if self.partitioning != "ordering" else 0
        self.moment_base = r.choice(_MOMENT_BASES)
        self.keys = r.choice([6, 20, 60])
        self.marks_deletes = r.random() < 0.2
        self.repeats_keys = r.random() < 0.3
        kinds = r.sample(list(TYPES), r.randint(2, 6))
        self.columns = {f"c{i}_{kind}": kind for i, kind in enumerate(kinds)}
        if r.random() < 0.04:  # a very wide row
            self.columns |= {f"w{i}": "int" for i in range(150)}
        options = self.options() | self.session_options()
        self.is_global = options["hoodie.index.type"] in _GLOBAL
        self.has_record_index = options["hoodie.index.type"] == "RECORD_INDEX"
        first = self.first_step(options)
        steps = [first, *(self.step() for _ in range(r.randint(1, 8)))]
        if later:
            steps = [replace(step, hudi=self.hudi) for step in steps[:4]]
            for release in later:
                steps += [replace(step, hudi=release) for step in self.steps_of(release)]
        if r.random() < 0.1:
            steps.append(
                replace(self.write(StepKind.UPSERT, self.some(), text=LAGS), hudi=steps[-1].hudi)
            )
        return History(name, hudi, options, tuple(steps))

    def steps_of(self, release: str) -> list[Step]:
        """Let another release go on with the table; it may upgrade it first."""
        self.hudi, found = release, []
        newer = [v for v in table_versions(release) if v > self.version]
        if newer and self.random.random() < 0.5:
            self.version = self.random.choice(newer)
            upgrade = {"hoodie.write.auto.upgrade": "true"}
            found.append(self.write(StepKind.UPSERT, self.some(), options=upgrade))
        return [*found, *(self.step() for _ in range(self.random.randint(1, 3)))]

    def pick(self, **weights: float) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def options(self) -> dict[str, str]:
        """Settings of the table and of every write."""
        r = self.random
        self.is_mor = r.random() < 0.8
        found = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ"
            if self.is_mor
            else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id,sub" if self.has_two_keys else "id",
            "hoodie.datasource.write.hive_style_partitioning": truth(r.random() < 0.4),
            "hoodie.metadata.enable": truth(r.random() < 0.5),
            "hoodie.parquet.small.file.limit": r.choice(["0", "104857600"]),
            "hoodie.compact.inline": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.clean.automatic": truth(r.random() < 0.5),
            "hoodie.clean.commits.retained": r.choice(["2", "4", "10"]),
            **{f"hoodie.{of}.shuffle.parallelism": "2" for of in ("upsert", "insert", "delete")},
            "hoodie.bulkinsert.shuffle.parallelism": "2",
        }
        if _release(self.hudi) >= (1,):
            found["hoodie.write.table.version"] = str(self.version)
            found["hoodie.write.auto.upgrade"] = "false"
            found["hoodie.write.record.positions"] = truth(r.random() < 0.6)
        found |= self.partition_options() | self.merge_options() | self.index_options()
        found |= self.skipping_options()
        return found | self.service_options(found)

    def session_options(self) -> dict[str, str]:
        """Draw settings of the session: Spark's calendar for ancient days, and the time zone."""
        r, mode = self.random, self.pick(CORRECTED=3, LEGACY=1)
        found = {f"spark.sql.parquet.{key}": mode for key in _CALENDARS}
        if r.random() < 0.5:  # what Apache Hudi's Avro writers look at
            found["spark.sql.avro.datetimeRebaseModeInWrite"] = mode
        else:
            found["spark.sql.avro.datetimeRebaseModeInWrite"] = "CORRECTED"
        if r.random() < 0.4:
            found["spark.sql.session.timeZone"] = r.choice(_ZONES)
        return found

    def partition_options(self) -> dict[str, str]:
        r, keygen = self.random, "hoodie.datasource.write.keygenerator.class"
        fields = PARTITION_FIELDS[self.partitioning]
        self.partition_values: Sequence[str | None] = _PLAIN_VALUES
        if not fields:
            return {keygen: "org.apache.hudi.keygen.NonpartitionedKeyGenerator"}
        found = {"hoodie.datasource.write.partitionpath.field": ",".join(fields)}
        if "p" in fields and r.random() < 0.5:
            is_encoded = r.random() < 0.6
            found["hoodie.datasource.write.partitionpath.urlencode"] = truth(is_encoded)
            self.partition_values = r.choice([_ODD_VALUES, _ODD_VALUES, _NO_VALUES])
            if is_encoded:
                self.partition_values = (*self.partition_values, "b/c", "c:d")
            elif len(fields) == 1:  # one field and two folders: the whole path is the value
                self.partition_values = (*self.partition_values, "b/c")
        if len(fields) > 1 or self.has_two_keys:
            found[keygen] = "org.apache.hudi.keygen.ComplexKeyGenerator"
            found["hoodie.write.complex.keygen.validation.enable"] = "false"
        return found

    def merge_options(self) -> dict[str, str]:
        fields = {"none": [], "two": ["ts", "seq"]}.get(self.ordering, ["ts"])
        self.ordering_fields = fields
        found = {}
        if fields:
            found["hoodie.datasource.write.precombine.field"] = ",".join(fields)
        mode = self.pick(default=3, commit=2, event=3, payload=2, database=1.5)
        if _release(self.hudi) >= (1,) and mode in ("commit", "event"):
            by_event = mode == "event" and fields
            found["hoodie.record.merge.mode"] = (
                "EVENT_TIME_ORDERING" if by_event else "COMMIT_TIME_ORDERING"
            )
        names: list[str] = []
        if mode == "payload" and len(fields) == 1:
            has_all = all(_release(hudi) < (1, 1) for hudi in self.releases)
            names = [name for name in _PAYLOADS if has_all or name not in _UNTIL_1_0]
        elif mode == "database" and len(fields) == 1 and self.version < 9:
            # From version 9 on, the ordering fields are other columns of Debezium.
            names = list(_PAYLOAD_COLUMNS)
        if names:
            payload = self.random.choice(names)
            found["hoodie.datasource.write.payload.class"] = _MODEL + payload
            self.payload_columns = _PAYLOAD_COLUMNS.get(payload, {})
            self.loads_without_them = bool(self.payload_columns) and self.random.random() < 0.6
        return found

    def index_options(self) -> dict[str, str]:
        r = self.random
        index = self.pick(
            SIMPLE=3, BLOOM=2, BUCKET=1.5, GLOBAL_SIMPLE=0.7, GLOBAL_BLOOM=0.5, RECORD_INDEX=0.8
        )
        found = {"hoodie.index.type": index}
        if index == "BUCKET":
            found["hoodie.bucket.index.num.buckets"] = str(r.choice([1, 2, 3]))
        if index in _GLOBAL:
            found[f"hoodie.{_GLOBAL[index]}.update.partition.path"] = truth(r.random() < 0.5)
        if index == "RECORD_INDEX" or r.random() < 0.3:  # beside the index by which keys are found
            found["hoodie.metadata.enable"] = "true"
            found["hoodie.metadata.record.index.enable"] = "true"
        return found

    def skipping_options(self) -> dict[str, str]:
        """Which indexes the metadata table has, if there is one."""
        r = self.random
        of_columns = r.random() < 0.7
        return {
            "hoodie.metadata.index.column.stats.enable": truth(of_columns),
            "hoodie.metadata.index.partition.stats.enable": truth(of_columns and r.random() < 0.7),
            "hoodie.metadata.index.bloom.filter.enable": truth(r.random() < 0.4),
        }

    def service_options(self, others: Mapping[str, str]) -> dict[str, str]:
        r, index = self.random, others["hoodie.index.type"]
        found = {}
        if index == "SIMPLE" and r.random() < 0.12:
            found["hoodie.populate.meta.fields"] = "false"
        if self.is_mor and r.random() < 0.25:
            found["hoodie.logfile.data.block.format"] = "parquet"
        if self.is_mor and r.random() < 0.3:
            found["hoodie.compact.inline"] = "true"
            found["hoodie.compact.inline.max.delta.commits"] = str(r.randint(1, 3))
        if index != "BUCKET" and r.random() < 0.12:
            found["hoodie.clustering.inline"] = "true"
            found["hoodie.clustering.inline.max.commits"] = "3"
        if r.random() < 0.15:
            found["hoodie.keep.min.commits"], found["hoodie.keep.max.commits"] = "3", "4"
            found["hoodie.clean.commits.retained"] = "2"
            found["hoodie.clean.automatic"] = "true"
        if "hoodie.populate.meta.fields" not in found and r.random() < 0.15:
            found["hoodie.table.cdc.enabled"] = "true"
            found["hoodie.table.cdc.supplemental.logging.mode"] = r.choice(_CDC_MODES)
        return found

    def first_step(self, options: Mapping[str, str]) -> Step:
        r = self.random
        rows = self.keys if r.random() < 0.5 else self.keys // 2
        simple = not PARTITION_FIELDS[self.partitioning] and options["hoodie.index.type"] in (
            "SIMPLE",
            "BLOOM",
        )
        if simple and not self.has_two_keys and r.random() < 0.12:
            mode = r.choice(["METADATA_ONLY", "FULL_RECORD"])
            return self.write(StepKind.BOOTSTRAP, rows, text=mode)
        kind = self.pick(bulk_insert=2, insert=2, upsert=3)
        if self.loads_without_them:
            kind = "bulk_insert"
        return self.write(StepKind(kind), rows)

    def step(self) -> Step:
        self.made += 1
        weights = {**_KINDS, **(_KINDS_OF_LOGS if self.is_mor else {})}
        if self.repeats_keys:  # then partitions are emptied, and written again by other steps
            weights |= {"delete_partition": 2, "insert_overwrite": 1.5}
        if self.plans_clustering:  # then file groups are replaced before it runs, and by it again
            weights |= {"delete_partition": 9, "insert_overwrite": 9, "insert_overwrite_table": 6}
            weights["cluster"] = 15
        if self.version >= 8 and len(self.releases) == 1:  # what an index by SQL needs
            weights["create_index"] = 2.5 if self.has_record_index else 0.7
        name = self.pick(**weights)
        if name in ("schedule_clustering", "cluster"):
            self.plans_clustering = name == "schedule_clustering"
        if name in {"sql_update", "sql_delete", "merge_into", "create_index"}:
            return self.sql(name)
        special = getattr(self, name, None)
        if special is not None:
            return special()  # type: ignore[no-any-return]
        kind = StepKind(name)
        if kind in _WRITES:
            return self.write(kind, self.some())
        return Step(kind, options=self.version_options(), text=str(self.random.randint(0, 9)))

    def some(self) -> int:
        return self.random.randint(1, max(2, self.keys // 2))

    def version_options(self) -> dict[str, str]:
        """Keep SQL commands and table services from upgrading the table."""
        if _release(self.hudi) < (1,):
            return {}
        return {
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
        }

    def write(self, kind: StepKind, count: int, **more: Any) -> Step:
        columns = self.all_columns()
        rows = self.rows(count, columns, late=more.pop("late", 0.2), twins=more.pop("twins", False))
        options = {**self.version_options(), **more.pop("options", {})}
        return Step(kind, columns, rows, options, self.random.choice([1, 2]), **more)

    def delete_partition(self) -> Step:
        number = str(self.random.randint(0, 9))
        return self.write(StepKind.DELETE_PARTITION, 1, text=number)

    def late_upsert(self) -> Step:
        return self.write(StepKind.UPSERT, self.some(), late=0.8)

    def late_delete(self) -> Step:
        return self.write(StepKind.DELETE, self.some(), late=0.8)

    def upsert_of_twins(self) -> Step:
        return self.write(StepKind.UPSERT, self.some(), twins=True)

    def upsert_and_compact(self) -> Step:
        options = {
            "hoodie.compact.inline": "true",
            "hoodie.compact.inline.max.delta.commits": "1",
        }
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def upsert_and_compact_logs(self) -> Step:
        options = {
            "hoodie.log.compaction.inline": "true",
            "hoodie.log.compaction.enable": "true",
            "hoodie.log.compaction.blocks.threshold": "2",
        }
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def without_metadata_table(self) -> Step:
        """Make a write that drops the metadata table, unless it is the index."""
        options = {} if self.has_record_index else {"hoodie.metadata.enable": "false"}
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def with_metadata_table(self) -> Step:
        """Make a write that builds the metadata table if there is none."""
        options = {"hoodie.metadata.enable": "true"}
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def add_column(self) -> Step:
        kind = self.random.choice(list(TYPES))
        self.columns[f"a{self.made}_{kind}"] = kind
        return self.write(StepKind.UPSERT, self.some())

    def widen_column(self) -> Step:
        names = [name for name, kind in self.columns.items() if TYPES[kind].wider]
        if names:
            name = self.random.choice(names)
            self.columns[name] = self.random.choice(TYPES[self.columns[name]].wider)
        return self.write(StepKind.UPSERT, self.some())

    def drop_column(self) -> Step:
        """Make a write without a column, which leaves the table's schema."""
        names = [name for name in self.columns if name[0] != "w"]
        if len(names) > 1:
            name = self.random.choice(names)
            self.dropped[name] = self.columns.pop(name)
        options = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def add_column_again(self) -> Step:
        """Make a write with a column that was dropped: as it was, of another type or case."""
        if not self.dropped:
            return self.drop_column()
        r = self.random
        name = r.choice(list(self.dropped))
        kind = self.dropped.pop(name)
        kind = kind if r.random() < 0.4 else r.choice(list(TYPES))
        self.columns[name.upper() if r.random() < 0.3 else name] = kind
        return self.write(StepKind.UPSERT, self.some())

    def switch_indexes(self) -> Step:
        """Make a write that drops indexes of the metadata table, or creates them (again)."""
        names = ["column.stats", "partition.stats", "bloom.filter"]
        chosen = self.random.sample(names, self.random.randint(1, 3))
        options = {
            f"hoodie.metadata.index.{name}.enable": truth(self.random.random() < 0.5)
            for name in chosen
        }
        if not self.has_record_index and self.random.random() < 0.5:
            options["hoodie.metadata.record.index.enable"] = truth(self.random.random() < 0.6)
        options["hoodie.metadata.enable"] = "true"
        return self.write(StepKind.UPSERT, self.some(), options=options)

    def change_version(self) -> Step:
        """Upgrade or downgrade the table."""
        release = _release(self.hudi)
        others = [8, 9] if release >= (1, 1) else [8] if release >= (1,) else []
        versions = [v for v in (6, *others) if v != self.version]
        if not versions or len(self.releases) > 1:
            return self.write(StepKind.UPSERT, self.some())
        before, self.version = self.version, self.random.choice(versions)
        direction = "upgrade" if self.version > before else "downgrade"
        text = f"CALL {direction}_table(table => '{{table}}', to_version => "
        return Step(StepKind.SQL, text=f"{text}'{_VERSIONS[self.version]}')")

    def change_table_type(self) -> Step:
        self.is_mor = not self.is_mor
        return Step(StepKind.TABLE_TYPE, text="MERGE_ON_READ" if self.is_mor else "COPY_ON_WRITE")

    def compact_elsewhere(self) -> Step:
        """Let a process with other settings compact."""
        r = self.random
        options = {
            **self.version_options(),
            "hoodie.metadata.enable": truth(r.random() < 0.5 or self.has_record_index),
            "hoodie.metadata.index.column.stats.enable": truth(r.random() < 0.5),
            "hoodie.parquet.compression.codec": r.choice(["gzip", "snappy", "zstd"]),
            "hoodie.compact.inline": "false",
            "hoodie.clean.automatic": truth(r.random() < 0.5),
        }
        return Step(StepKind.COMPACT, options=options, is_elsewhere=True)

    def sql(self, name: str) -> Step:
        r, where = self.random, f"seq = {self.random.randint(0, 3)}"
        options = self.version_options()
        if self.version < 9 and _release(self.hudi) >= (1, 1) and r.random() < 0.1:
            options, self.version = {}, 9  # the command upgrades the table
        if name == "merge_into":
            set_too = [c for c in self.ordering_fields if c not in self.fixed]
            set_columns = [*r.sample(list(self.columns), r.randint(1, len(self.columns))), *set_too]
            sets = ", ".join(f"t.`{c}` = s.`{c}`" for c in set_columns)
            inserts = " WHEN NOT MATCHED THEN INSERT *" if r.random() < 0.5 else ""
            columns = self.all_columns()
            rows = self.rows(self.some(), columns, late=0.2, twins=False)
            text = f"WHEN MATCHED THEN UPDATE SET {sets}{inserts}"
            return Step(StepKind.MERGE_INTO, columns, rows, options, text=text)
        if name == "create_index":
            if self.has_record_index:
                column = r.choice(["seq", "q", *self.columns])
                index, column = f"of_{column}", f"`{column}`"
            else:
                index, column = "record_index", ", ".join(["id", "sub"][: 1 + self.has_two_keys])
            text = f"CREATE INDEX IF NOT EXISTS {index} ON {{table}} ({column})"
            if r.random() < 0.4:
                text = f"DROP INDEX IF EXISTS {index} ON {{table}}"
            return Step(StepKind.SQL, options=options, text=text)
        if name == "sql_delete":
            text = f"DELETE FROM {{table}} WHERE {where} AND q = {r.randint(1, 3)}"
            return Step(StepKind.SQL, options=options, text=text)
        settable = [c for c, kind in self.columns.items() if TYPES[kind].literal]
        if not settable:
            return self.write(StepKind.UPSERT, self.some())
        column = r.choice(settable)
        literal = TYPES[self.columns[column]].literal
        text = f"UPDATE {{table}} SET `{column}` = {literal} WHERE {where}"
        return Step(StepKind.SQL, options=options, text=text)

    @property
    def fixed(self) -> frozenset[str]:
        """Columns that MERGE INTO may not set."""
        return frozenset(("id", "sub", *PARTITION_FIELDS[self.partitioning]))

    def all_columns(self) -> tuple[Column, ...]:
        ordering = {"none": "long", "two": "long"}.get(self.ordering, self.ordering)
        pairs = [("id", self.key_type), ("ts", ordering), ("seq", "int"), *self.columns.items()]
        pairs += [("p", "string"), ("q", "int"), ("day", "date")]
        if self.has_two_keys:
            pairs.insert(1, ("sub", "int"))
        if self.marks_deletes:
            pairs.append(("_hoodie_is_deleted", "boolean"))
        if self.made or not self.loads_without_them:
            pairs += self.payload_columns.items()
        return tuple(Column(name, kind) for name, kind in pairs)

    def rows(
        self, count: int, columns: tuple[Column, ...], *, late: float, twins: bool
    ) -> tuple[tuple[Json, ...], ...]:
        r = self.random
        numbers = range(self.keys)
        ids = r.choices(numbers, k=count) if twins else r.sample(numbers, min(count, self.keys))
        made = [self.row(i, late) for i in ids]
        return tuple(tuple(row[c.name] for c in columns) for row in made)

    def row(self, number: int, late: float) -> dict[str, Json]:
        r = self.random
        # A key keeps its partition, but for a few that then are in two; a global index moves them.
        stays = r.random() < (0.5 if self.is_global else 0.3 if self.repeats_keys else 0.9)
        place = Random(number) if stays else r
        found: dict[str, Json] = {
            "id": {"string": self.text_key(number), "int": number, "long": number * 10**10}[
                self.key_type
            ],
            "sub": number % 2,
            "p": place.choice(self.partition_values),
            "q": place.randint(1, 3),
            "day": date(2024, 1, place.randint(1, 3)).isoformat(),
            "ts": self.ordering_value(late),
            "seq": r.randint(0, 3),
            "_hoodie_is_deleted": r.random() < 0.3,
        }
        if self.payload_columns:
            place_in_order = r.randint(0, 20)
            found |= {
                "Op": r.choice("IUUUDd"),
                "_change_operation_type": r.choice("cuuudD"),
                "_event_seq": f"{place_in_order // 5}.{place_in_order % 5}",
                "_event_lsn": place_in_order,
            }
        if self.partitioning == "ordering":
            found["ts"] = number % 4
        nulls = 1.0 if r.random() < 0.05 else 0.15  # rows of nothing but nulls, too
        for name, kind in self.columns.items():
            found[name] = None if r.random() < nulls else self.types[kind].draw(r)
        return found

    def text_key(self, number: int) -> str:
        return long_text(Random(number), f"k{number}") if self.has_long_keys else f"k{number}"

    def ordering_value(self, late: float) -> Json:
        """Lower than what is there, among it, or above it."""
        r = self.random
        if r.random() < late:
            n = r.randint(0, 8)
        else:
            n = r.randint(8, 20) if r.random() < 0.6 else 20 + self.made
        if self.ordering in ("long", "two"):
            return n + self.ordering_base
        begin = datetime.fromisoformat(self.moment_base)
        ends = ("-Infinity", "-0.0", "Infinity", "NaN")
        is_end = self.ordering == "double" and self.has_long_ordering and r.random() < 0.2
        spelled: dict[str, Json] = {
            "double": r.choice(ends) if is_end else n / 2,
            "decimal": str(n),
            "string": f"{n:03d}" + "o" * (5000 * self.has_long_ordering),
            "date": (begin.date() + timedelta(days=n)).isoformat(),
            "timestamp": (begin + timedelta(seconds=n)).isoformat(),
        }
        return spelled.get(self.ordering, n)


# Index to the middle of its option's name.
_GLOBAL: Mapping[str, str] = {
    "GLOBAL_SIMPLE": "simple.index",
    "GLOBAL_BLOOM": "bloom.index",
    "RECORD_INDEX": "record.index",
}


def truth(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
