"""Random histories of tables that hudi-rs writes, in turns with Apache Hudi on Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from verification.histories.generation import PARTITION_FIELDS, Maker, truth
from verification.histories.history import History, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import Sequence

RUST = "hudi-rs-0.6.0-rc.1"
SPARK_RELEASE = "1.2.0"
KINDS = (
    "int", "long", "float", "double", "string", "boolean", "date", "timestamp", "decimal",
    "big_decimal", "digit", "all_digits", "binary",
)  # fmt: skip
_STEPS = {
    StepKind.UPSERT: 7,
    StepKind.INSERT: 1,
    StepKind.DELETE: 2,
    StepKind.INSERT_OVERWRITE_TABLE: 0.4,
    StepKind.INSERT_OVERWRITE: 0.6,
    StepKind.COMPACT: 1.5,
}


def rust_history(seed: int, number: int) -> History:
    """Make one history: the same arguments give the same one."""
    maker = _RustMaker(Random(f"{seed} {number} {RUST}"), SPARK_RELEASE)
    return maker.rust_history(f"h{seed}_{number}")


@dataclass
class _RustMaker(Maker):
    has_record_index: bool = False
    has_two_keys: bool = False

    def rust_history(self, name: str) -> History:
        r = self.random
        self.version, self.is_mor = r.choice([8, 9, 9]), r.random() < 0.7
        self.key_type = self.pick(string=3, long=1)
        self.ordering = self.pick(long=3, none=2, timestamp=1, string=0.5)
        self.partitioning = self.pick(none=2, text=3, number=1)
        self.partition_values: Sequence[str | None] = ("a", "bc", "d e", "ü", "x" * 200)
        self.keys = r.choice([6, 20])
        self.has_long_ordering = r.random() < 0.2
        self.has_long_keys = r.random() < 0.15
        self.columns = {f"c{i}_{kind}": kind for i, kind in enumerate(r.sample(KINDS, 4))}
        options = self._options()
        first = self.write(StepKind(self.pick(insert=2, upsert=1)), self.keys)
        steps = [first, *(self._step() for _ in range(r.randint(2, 7)))]
        return History(name, RUST, options, tuple(steps))

    def _options(self) -> dict[str, str]:
        r, fields = self.random, PARTITION_FIELDS[self.partitioning]
        has_metadata = r.random() < 0.6
        keygen = "SimpleKeyGenerator" if fields else "NonpartitionedKeyGenerator"
        found = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ"
            if self.is_mor
            else "COPY_ON_WRITE",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": ",".join(fields),
            "hoodie.datasource.write.precombine.field": "" if self.ordering == "none" else "ts",
            "hoodie.datasource.write.hive_style_partitioning": truth(r.random() < 0.7),
            "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{keygen}",
            "hoodie.metadata.enable": truth(has_metadata),
            "hoodie.metadata.record.index.enable": truth(has_metadata and r.random() < 0.5),
            "hoodie.metadata.index.column.stats.enable": truth(has_metadata and r.random() < 0.6),
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.embed.timeline.server": "false",
            **{f"hoodie.{of}.shuffle.parallelism": "2" for of in ("upsert", "insert", "delete")},
        }
        return {key: value for key, value in found.items() if value}

    def _step(self) -> Step:
        self.made += 1
        weights = {kind.value: weight for kind, weight in _STEPS.items()}
        kind = StepKind(self.pick(**weights))
        if kind is StepKind.COMPACT:
            step = Step(kind, options=self.version_options())
        else:
            step = self.write(kind, self.some())
        is_spark = self.random.random() < 0.25
        return replace(step, hudi=SPARK_RELEASE) if is_spark else step
