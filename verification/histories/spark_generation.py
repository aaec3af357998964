"""Random histories that Apache Hudi's releases write on Spark, one or several in turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from verification.common.data import load_data
from verification.histories.column_types import TYPES
from verification.histories.generation import (
    METADATA,
    PARTITION_FIELDS,
    Draft,
    Maker,
    release_of,
    truth,
)
from verification.histories.history import LAGS, History, Step, StepKind

_PAYLOADS = load_data(__file__, "values.toml")["payloads"]
_MODEL = "org.apache.hudi.common.model."
_PLAIN_VALUES = ("a", "bc", "d e", "ü", "2024", "x" * 200)
_ODD_VALUES = ("a", "d e", "ü", "50%", "x=1", "a+b", "50%20", "#")
_NO_VALUES = ("a", "bc", None, "")
_VERSIONS = {5: "FIVE", 6: "SIX", 8: "EIGHT", 9: "NINE"}


def table_versions(hudi: str) -> tuple[int, ...]:
    """Table versions that a release, or the first of several, creates; common ones more often."""
    release = release_of(hudi.partition("+")[0])
    if release < (1,):
        return (6,)
    return (6, 8) if release < (1, 1) else (6, 8, 9, 9)


@dataclass
class SparkMaker(Maker):
    """Makes a history of all that Spark's data source, SQL and procedures can do."""

    dropped: dict[str, str] = field(default_factory=dict)  # columns that the table once had
    has_record_index: bool = False
    plans_clustering: bool = False  # has scheduled a clustering that has not run

    def history(self, name: str, hudi: str) -> History:
        """Make a history for a release, or for several that write one after the other."""
        self.releases = hudi.split("+")
        self.hudi, *later = self.releases
        self.version = self.random.choice(table_versions(self.hudi))
        made = super().history(name, hudi)
        steps = list(made.steps)
        if later:
            steps = [replace(step, hudi=self.hudi) for step in steps[:4]]
            for release in later:
                steps += [replace(step, hudi=release) for step in self.steps_of(release)]
        if self.random.random() < 0.1:
            steps.append(replace(self.write(text=LAGS), hudi=steps[-1].hudi))
        return made.with_steps(tuple(steps))

    def steps_of(self, release: str) -> list[Step]:
        """Let another release go on with the table; it may upgrade it first."""
        self.hudi, found = release, []
        newer = [v for v in table_versions(release) if v > self.version]
        if newer and self.random.random() < 0.5:
            self.version = self.random.choice(newer)
            found.append(self.write(options={"hoodie.write.auto.upgrade": "true"}))
        return [*found, *(self.step() for _ in range(self.random.randint(1, 3)))]

    def options(self) -> dict[str, str]:
        found = super().options()
        self.is_global = any(key.endswith("update.partition.path") for key in found)
        self.has_record_index = found["hoodie.index.type"] == "RECORD_INDEX"
        self.draw_partition_values(found.get("hoodie.datasource.write.partitionpath.urlencode", ""))
        return found | self.merge_options()

    def draw_partition_values(self, encoded: str) -> None:
        """Draw values, odd ones if an option says whether folders are encoded."""
        self.partition_values = _PLAIN_VALUES
        if encoded:
            self.partition_values = self.random.choice([_ODD_VALUES, _ODD_VALUES, _NO_VALUES])
        if encoded == "true":
            self.partition_values = (*self.partition_values, "b/c", "c:d")
        elif encoded and self.partitioning == "text":  # two folders: the whole path is the value
            self.partition_values = (*self.partition_values, "b/c")

    def merge_options(self) -> dict[str, str]:
        fields = self.ordering_fields
        found = {}
        mode = self.pick(default=3, commit=2, event=3, payload=2, database=1.5)
        if release_of(self.hudi) >= (1,) and mode in ("commit", "event"):
            by = "EVENT" if mode == "event" and fields else "COMMIT"
            found["hoodie.record.merge.mode"] = f"{by}_TIME_ORDERING"
        names: list[str] = []
        if mode == "payload" and len(fields) == 1:
            has_all = all(release_of(hudi) < (1, 1) for hudi in self.releases)
            names = [n for n in _PAYLOADS["usual"] if has_all or n not in _PAYLOADS["until_1_0"]]
        elif mode == "database" and len(fields) == 1 and self.version < 9:
            # From version 9 on, the ordering fields are other columns of Debezium.
            names = list(_PAYLOADS["columns"])
        if names:
            payload = self.random.choice(names)
            found["hoodie.datasource.write.payload.class"] = _MODEL + payload
            self.payload_columns = _PAYLOADS["columns"].get(payload, {})
            self.loads_without_them = bool(self.payload_columns) and self.random.random() < 0.6
        return found

    def first_step(self, options: Mapping[str, str]) -> Step:
        is_simple = options["hoodie.index.type"] in ("SIMPLE", "BLOOM")
        is_plain = not PARTITION_FIELDS[self.partitioning] and not self.has_two_keys
        if is_simple and is_plain and self.random.random() < 0.12:
            mode = self.random.choice(["METADATA_ONLY", "FULL_RECORD"])
            return self.write("bootstrap", self.keys, text=mode)
        if self.loads_without_them:
            return self.write("bulk_insert", self.keys)
        return super().first_step(options)

    def weights(self) -> dict[str, float]:
        found = super().weights()
        if self.repeats_keys:  # then partitions are emptied, and written again by other steps
            found |= {"delete_partition": 2, "insert_overwrite": 1.5}
        if self.plans_clustering:  # then file groups are replaced before it runs, and by it again
            found |= {"delete_partition": 9, "insert_overwrite": 9, "insert_overwrite_table": 6}
            found["cluster"] = 15
        if self.version >= 8 and len(self.releases) == 1:  # what an index by SQL needs
            found["create_index"] = 2.5 if self.has_record_index else 0.7
        return found

    def step_named(self, name: str) -> Step:
        if name in ("schedule_clustering", "cluster"):
            self.plans_clustering = name == "schedule_clustering"
        return super().step_named(name)

    def delete_partition(self) -> Step:
        number = str(self.random.randint(0, 9))
        return self.write("delete_partition", 1, text=number)

    def without_metadata_table(self) -> Step:
        """Make a write that drops the metadata table, unless it is the index."""
        return self.write(options={} if self.has_record_index else {METADATA: "false"})

    def drop_column(self) -> Step:
        """Make a write without a column, which leaves the table's schema."""
        names = [name for name in self.columns if name[0] != "w"]
        if len(names) > 1:
            name = self.random.choice(names)
            self.dropped[name] = self.columns.pop(name)
        return self.write(
            options={"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
        )

    def add_column_again(self) -> Step:
        """Make a write with a column that was dropped: as it was, of another type or case."""
        if not self.dropped:
            return self.drop_column()
        r = self.random
        name = r.choice(list(self.dropped))
        kind = self.dropped.pop(name)
        kind = kind if r.random() < 0.4 else r.choice(list(TYPES))
        self.columns[name.upper() if r.random() < 0.3 else name] = kind
        return self.write()

    def switch_indexes(self) -> Step:
        """Make a write that drops indexes of the metadata table, or creates them (again)."""
        r = self.random
        names = ["column.stats", "partition.stats", "bloom.filter"]
        chosen = r.sample(names, r.randint(1, 3))
        options = {f"hoodie.metadata.index.{n}.enable": truth(r.random() < 0.5) for n in chosen}
        if not self.has_record_index and r.random() < 0.5:
            options["hoodie.metadata.record.index.enable"] = truth(r.random() < 0.6)
        options[METADATA] = "true"
        return self.write(options=options)

    def change_version(self) -> Step:
        """Upgrade or downgrade the table."""
        release = release_of(self.hudi)
        others = [8, 9] if release >= (1, 1) else [8] if release >= (1,) else []
        versions = [v for v in (6, *others) if v != self.version]
        if not versions or len(self.releases) > 1:
            return self.write()
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
            METADATA: truth(r.random() < 0.5 or self.has_record_index),
            "hoodie.metadata.index.column.stats.enable": truth(r.random() < 0.5),
            "hoodie.parquet.compression.codec": r.choice(["gzip", "snappy", "zstd"]),
            "hoodie.compact.inline": "false",
            "hoodie.clean.automatic": truth(r.random() < 0.5),
        }
        return Step(StepKind.COMPACT, options=options, is_elsewhere=True)

    def sql_options(self) -> dict[str, str]:
        """Return options of a statement, which may upgrade the table without them."""
        options = self.version_options()
        is_older = self.version < 9 and release_of(self.hudi) >= (1, 1)
        if is_older and self.random.random() < 0.1:
            options = {}
            self.version = 9
        return options

    def merge_into(self) -> Step:
        r = self.random
        options = self.sql_options()
        fixed = ("id", "sub", *PARTITION_FIELDS[self.partitioning])
        set_too = [c for c in self.ordering_fields if c not in fixed]
        set_columns = [*r.sample(list(self.columns), r.randint(1, len(self.columns))), *set_too]
        sets = ", ".join(f"t.`{c}` = s.`{c}`" for c in set_columns)
        inserts = " WHEN NOT MATCHED THEN INSERT *" if r.random() < 0.5 else ""
        columns = self.all_columns()
        rows = self.rows(Draft(), columns)
        text = f"WHEN MATCHED THEN UPDATE SET {sets}{inserts}"
        return Step(StepKind.MERGE_INTO, columns, rows, options, text=text)

    def create_index(self) -> Step:
        r = self.random
        options = self.sql_options()
        if self.has_record_index:
            column = r.choice(["seq", "q", *self.columns])
            index, column = f"of_{column}", f"`{column}`"
        else:
            index = "record_index"
            column = ", ".join(["id", "sub"][: 1 + self.has_two_keys])
        text = f"CREATE INDEX IF NOT EXISTS {index} ON {{table}} ({column})"
        if r.random() < 0.4:
            text = f"DROP INDEX IF EXISTS {index} ON {{table}}"
        return Step(StepKind.SQL, options=options, text=text)

    def sql_delete(self) -> Step:
        where = f"seq = {self.random.randint(0, 3)}"
        options = self.sql_options()
        text = f"DELETE FROM {{table}} WHERE {where} AND q = {self.random.randint(1, 3)}"
        return Step(StepKind.SQL, options=options, text=text)

    def sql_update(self) -> Step:
        where = f"seq = {self.random.randint(0, 3)}"
        options = self.sql_options()
        settable = [c for c, kind in self.columns.items() if TYPES[kind].literal]
        if not settable:
            return self.write()
        column = self.random.choice(settable)
        literal = TYPES[self.columns[column]].literal
        text = f"UPDATE {{table}} SET `{column}` = {literal} WHERE {where}"
        return Step(StepKind.SQL, options=options, text=text)
