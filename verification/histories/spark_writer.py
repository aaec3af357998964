"""Executes a history: Apache Hudi on Spark writes the table. Runs in the worker process only."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from verification.common.data import load_data
from verification.histories import avro
from verification.histories.column_types import TYPES, Json, python_value
from verification.histories.history import LAGS, TOGETHER, History, Step, StepKind
from verification.histories.instants import (
    completed_commits,
    partition_paths,
    table_properties,
    timeline_files,
)
from verification.histories.session import settings_of

_STEPS = load_data(__file__, "steps.toml")
_PROCEDURES: Mapping[str, str] = _STEPS["procedures"]


class NotPossibleError(Exception):
    """A step that the table as it is gives no occasion for."""


_DELETED = "hoodie.datasource.write.partitions.to.delete"
_CREATED: set[Path] = set()  # tables that statements created


def execute(spark: SparkSession, history: History, number: int, path: Path) -> None:
    """Do one step of a history to the table at a path; the first of steps together does all."""
    steps = history.steps
    if steps[number].text != TOGETHER:
        _execute(spark, history, number, path)
    elif steps[number - 1].text != TOGETHER:
        together = list(takewhile(lambda n: steps[n].text == TOGETHER, range(number, len(steps))))
        with ThreadPoolExecutor(len(together)) as threads:
            writes = [threads.submit(_execute, spark, history, n, path) for n in together]
        for write in writes:
            write.result()


def _execute(spark: SparkSession, history: History, number: int, path: Path) -> None:
    step = history.steps[number]
    given = history.options.items()
    options = {k: v for k, v in given if number == 0 or k not in _STEPS["only_first"]}
    options |= step.options
    if number:
        _adapt(options, table_properties(path))
    session = {key: options.pop(key) for key in list(options) if key.startswith("spark.")}
    with settings_of(spark, session):
        if history.hudi.startswith(avro.WRITERS) and step.rows:
            avro.write(spark, history, number, options, path)
        elif step.kind in _EDITS:
            _EDITS[step.kind](path, step)
        elif step.kind is StepKind.BOOTSTRAP:
            _bootstrap(spark, step, options, path)
        elif step.kind is StepKind.MERGE_INTO:
            _merge_into(spark, history, step, options, path)
        elif step.kind is StepKind.SQL:
            _sql(spark, _statement(spark, step.text, path, step), options, step)
        elif step.kind.value in _PROCEDURES:
            text = f"CALL {_PROCEDURES[step.kind.value]}"
            _sql(spark, _statement(spark, text, path, step), options, step)
        else:
            _write(_rows(spark, step), step, options, path, is_first=number == 0)


def _write(
    rows: DataFrame, step: Step, options: dict[str, str], path: Path, *, is_first: bool
) -> None:
    options["hoodie.datasource.write.operation"] = step.kind.value
    if step.kind is StepKind.DELETE_PARTITION and _DELETED not in options:
        options[_DELETED] = _chosen(partition_paths(path), step)
    mode = "overwrite" if is_first else "append"
    metadata = path / ".hoodie" / "metadata"
    aside = path.with_name(path.name + "_metadata")
    if step.text == LAGS and not metadata.is_dir():
        raise NotPossibleError
    if step.text == LAGS:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(metadata, aside)
    rows.write.format("hudi").options(**options).mode(mode).save(str(path))
    if step.text == LAGS:
        shutil.rmtree(metadata)
        shutil.move(aside, metadata)


def _bootstrap(spark: SparkSession, step: Step, options: dict[str, str], path: Path) -> None:
    source = path.with_name(path.name + "_source")
    rows = _rows(spark, step).dropDuplicates(["id"])
    rows.coalesce(step.files).write.mode("overwrite").parquet(str(source))
    package = "org.apache.hudi.client.bootstrap.selector."
    selector = "MetadataOnly" if step.text == "METADATA_ONLY" else "FullRecord"
    options |= {
        "hoodie.bootstrap.base.path": str(source),
        "hoodie.bootstrap.mode.selector": f"{package}{selector}BootstrapModeSelector",
        "hoodie.bootstrap.parallelism": "2",
        "hoodie.datasource.write.operation": "bootstrap",
    }
    none = spark.createDataFrame([], rows.schema)
    none.write.format("hudi").options(**options).mode("overwrite").save(str(path))


def _adapt(options: dict[str, str], properties: Mapping[str, str]) -> None:
    """Make options fit the table as it is now: steps may have changed it, or have been refused."""
    if options.get("hoodie.write.auto.upgrade") == "false":
        options["hoodie.write.table.version"] = properties["hoodie.table.version"]
    if properties["hoodie.table.type"] == "COPY_ON_WRITE":
        for name in ("hoodie.compact.inline", "hoodie.log.compaction.inline"):
            options.pop(name, None)


def _edit_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Edit properties as by hand: Apache Hudi has commands for that only in its shell."""
    file = path / ".hoodie" / "hoodie.properties"
    kept = [
        line for line in file.read_text().splitlines() if line.partition("=")[0] not in properties
    ]
    edited = [f"{key}={value}" for key, value in properties.items()]
    file.write_text("\n".join([*kept, *edited]) + "\n")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _lose(path: Path, pattern: str) -> None:
    """Remove the files of the timeline with names of a pattern, and their checksums."""
    for file in timeline_files(path):
        if re.fullmatch(pattern, file.name.removeprefix(".").removesuffix(".crc")):
            file.unlink()


# What is done to the files of a table, without Apache Hudi.
_EDITS: Mapping[StepKind, Callable[[Path, Step], None]] = {
    StepKind.TABLE_TYPE: lambda path, step: _edit_properties(
        path, {"hoodie.table.type": step.text}
    ),
    StepKind.EDIT_PROPERTIES: lambda path, step: _edit_properties(path, step.options),
    StepKind.LOSE_COMPLETION: lambda path, _: _lose(
        path, re.escape(completed_commits(path)[-1].file_name)
    ),
    StepKind.LOSE_INSTANT: lambda path, step: _lose(
        path, completed_commits(path)[int(step.text) - 1].requested + ".*"
    ),
}


def _statement(spark: SparkSession, text: str, path: Path, step: Step) -> str:
    """Return a statement with names of the table, and of instants that it has now.

    Raises:
        NotPossibleError: the table has no such instant.
    """
    commits = [instant.requested for instant in completed_commits(path)]
    names = sorted(file.name for file in timeline_files(path))
    plans = [name.partition(".")[0] for name in names if name.endswith("compaction.requested")]
    saved = [re.split(r"[_.]", name)[0] for name in names if name.endswith(".savepoint")]
    places = {
        **{f"c{number}": requested for number, requested in enumerate(commits, 1)},
        **({"last": commits[-1]} if len(commits) > 1 else {}),
        **({"chosen": _chosen(commits, step)} if commits else {}),
        **({"saved": _chosen(saved, step)} if saved else {}),
        **({"plan": plans[0]} if plans else {}),
    }
    if "{table}" in text:
        places["table"] = _table(spark, path, is_new=text.startswith("CREATE TABLE"))
    try:
        return text.format(path=path, **places)
    except KeyError as error:
        raise NotPossibleError from error


def _merge_into(
    spark: SparkSession, history: History, step: Step, options: dict[str, str], path: Path
) -> None:
    keys = list(history.record_keys)
    _rows(spark, step).dropDuplicates(keys).createOrReplaceTempView("source")
    on = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    text = f"MERGE INTO {_table(spark, path)} t USING source s ON {on} {step.text}"
    _sql(spark, text, options, step)


def _chosen(values: list[str] | tuple[str, ...], step: Step) -> str:
    if not values:
        raise NotPossibleError
    return values[int(step.text if step.text.isdigit() else 0) % len(values)]


def _sql(spark: SparkSession, text: str, options: Mapping[str, str], step: Step) -> None:
    """Run a statement with the session's settings as they are while it runs."""
    session = {key: options[key] for key in _STEPS["of_session"] if key in options}
    with settings_of(spark, {**session, **step.options}):
        spark.sql(text).collect()


def _table(spark: SparkSession, path: Path, *, is_new: bool = False) -> str:
    """A name of the table in the catalog, declared anew so that it has the columns of now.

    A table that a statement created, or is about to create, keeps the types that only its statement
    says.
    """
    name = re.sub(r"\W", "_", path.name)
    if is_new:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        _CREATED.add(path)
    elif path not in _CREATED:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    return name


def _rows(spark: SparkSession, step: Step) -> DataFrame:
    types = ((c.name, TYPES[c.type].declared if c.type in TYPES else c.type) for c in step.columns)
    schema = spark.createDataFrame([], ", ".join(f"`{name}` {ddl}" for name, ddl in types)).schema
    frame = spark.createDataFrame([spark_value(schema, row) for row in step.rows], schema)
    return frame.coalesce(step.files) if step.files else frame


def spark_value(kind: Any, value: Json) -> Any:
    """Return a value as a type of Spark takes it; a struct is an object, or a list of fields."""
    name = kind.typeName()
    if value is None:
        return None
    if name == "struct":
        fields = kind.fields
        items = [value[f.name] for f in fields] if isinstance(value, dict) else value
        return tuple(spark_value(f.dataType, item) for f, item in zip(fields, items, strict=True))
    if name == "array":
        return [spark_value(kind.elementType, item) for item in value]
    if name == "map":
        return {key: spark_value(kind.valueType, item) for key, item in value.items()}
    return python_value(name, value)
