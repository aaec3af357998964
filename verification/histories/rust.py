"""hudi-rs as the writer of histories, in turns with Spark.

A program that cargo builds does one step at a time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from verification.histories.answers import Failure
from verification.histories.column_types import TYPES
from verification.histories.generation import Maker
from verification.histories.history import History, Step, StepKind
from verification.histories.worker import Worker

RUST = "hudi-rs-0.6.0-rc.1"
SPARK_RELEASE = "1.2.0"  # which reads, and does some steps
SOURCE = Path(__file__).parent / "rust"
BUILD = Path(__file__).parents[2] / "build" / "hudi-rs-writer"
SECONDS_PER_STEP = 120
_ARROW: Mapping[str, pa.DataType] = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal": pa.decimal128(12, 2),
    "big_decimal": pa.decimal128(30, 6),
    "digit": pa.decimal128(1, 0),
    "all_digits": pa.decimal128(38, 0),
    "binary": pa.binary(),
}


@dataclass
class RustMaker(Maker):
    """Makes a history that hudi-rs begins, and that it and Spark write in turns."""

    def history(self, name: str, hudi: str) -> History:
        """Make a history."""
        self.hudi = SPARK_RELEASE
        self.version = self.random.choice([8, 9, 9])
        return super().history(name, hudi)

    def step(self) -> Step:
        """Make a further step, of Spark now and then."""
        step = super().step()
        is_spark = self.random.random() < 0.25
        return replace(step, hudi=SPARK_RELEASE) if is_spark else step


@dataclass
class RustWorker(Worker):
    """Writes with hudi-rs, or with Spark where a step says so, and reads with Spark."""

    _program: Path | None = None

    def execute(self, history: History, number: int, path: Path) -> Failure | None:
        """Do one step of a history; the failure if its writer refused it."""
        step = history.steps[number]
        if step.hudi:
            return super().execute(history, number, path)
        if self._program is None:
            self._program = _built()
        file = self.folder / "rows.arrow"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = keys_of(history, step) if step.kind is StepKind.DELETE else rows_of(step)
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
        given = {
            "path": str(path),
            "operation": step.kind.value,
            "rows": str(file) if step.rows else "",
            "create": None if number else settings_of(history),
        }
        done = subprocess.run(
            [str(self._program), json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=SECONDS_PER_STEP,
            check=False,
        )
        lines = [line for line in done.stderr.splitlines() if line]
        return Failure("hudi-rs", lines[-1][:600] if lines else "?") if done.returncode else None


def _built() -> Path:
    cargo = shutil.which("cargo")
    if cargo is None or shutil.which("protoc") is None:
        raise SystemExit("hudi-rs needs Rust's cargo, 1.94 or newer, and protoc (Protocol Buffers)")
    print("Building the writer with hudi-rs ...", flush=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    command = [cargo, "build", "--quiet", "--locked", "--manifest-path", f"{SOURCE}/Cargo.toml"]
    subprocess.run(command, check=True, env=environment)
    return BUILD / "debug" / "hudi_rs_writer"


def settings_of(history: History) -> dict[str, str]:
    """Return the settings of a new table, as `rust/src/main.rs` has them."""
    options = history.options
    write = "hoodie.datasource.write"
    return {
        "type": options[f"{write}.table.type"],
        "version": str(history.table_version),
        "keys": ",".join(history.record_keys),
        "partitions": ",".join(history.partition_fields),
        "ordering": ",".join(history.ordering_fields),
        "hive_style": str(history.is_hive_style).lower(),
        "metadata": options["hoodie.metadata.enable"],
        "record_index": options["hoodie.metadata.record.index.enable"],
        "column_stats": options["hoodie.metadata.index.column.stats.enable"],
    }


def rows_of(step: Step) -> pa.Table:
    """Return the rows of a step; only its key may not be null."""
    fields = [pa.field(c.name, _ARROW[c.type], nullable=c.name != "id") for c in step.columns]
    columns = [
        pa.array([_python(column.type, row[n]) for row in step.rows], _ARROW[column.type])
        for n, column in enumerate(step.columns)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def keys_of(history: History, step: Step) -> pa.Table:
    """Return the record key and the partition path of each row."""
    names = [column.name for column in step.columns]
    rows = [dict(zip(names, row, strict=True)) for row in step.rows]
    keys = [str(values["id"]) for values in rows]
    paths = [history.partition_path(values) for values in rows]
    return pa.table({"key": pa.array(keys, pa.string()), "path": pa.array(paths, pa.string())})


def _python(kind: str, value: Any) -> Any:
    return None if value is None else TYPES[kind].to_python(value)
