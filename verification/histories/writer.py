"""Executes a history: Apache Hudi on Spark writes the table. Runs in the worker process only."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

from verification.histories import avro_writer
from verification.histories.avro_generation import AVRO, JAVA
from verification.histories.column_types import TYPES, Json
from verification.histories.history import LAGS, History, Step, StepKind
from verification.histories.instants import completed_commits, partition_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

# Settings of the table, which its properties keep: given again they may conflict with what Apache
# Hudi made of them.
_ONLY_FIRST = frozenset(
    {
        "hoodie.record.merge.mode",
        "hoodie.datasource.write.payload.class",
        "hoodie.datasource.write.precombine.field",
        "hoodie.datasource.write.table.type",
    }
)
# What SQL commands and procedures do not take from the table and have to be given by the session.
_OF_SESSION = (
    "hoodie.metadata.enable",
    "hoodie.metadata.index.bloom.filter.enable",
    "hoodie.metadata.index.column.stats.enable",
    "hoodie.metadata.index.partition.stats.enable",
    "hoodie.metadata.record.index.enable",
    "hoodie.parquet.small.file.limit",
    "hoodie.clean.automatic",
    "hoodie.embed.timeline.server",
    "hoodie.write.record.positions",
)
_PROCEDURES: Mapping[StepKind, str] = {
    StepKind.COMPACT: "run_compaction(op => 'run', path => '{path}')",
    StepKind.SCHEDULE_COMPACTION: "run_compaction(op => 'schedule', path => '{path}')",
    StepKind.CLUSTER: "run_clustering(path => '{path}')",
    StepKind.SCHEDULE_CLUSTERING: "run_clustering(path => '{path}', op => 'schedule')",
    StepKind.CLEAN: "run_clean(table => '{table}', retain_commits => 1)",
    StepKind.ARCHIVE: "archive_commits(table => '{table}', min_commits => 2, max_commits => 3,"
    " retain_commits => 1)",
    StepKind.ROLLBACK: "rollback_to_instant(table => '{table}', instant_time => '{last}')",
    StepKind.SAVEPOINT: "create_savepoint(table => '{table}', commit_time => '{chosen}')",
    StepKind.RESTORE: "rollback_to_savepoint(table => '{table}', instant_time => '{saved}')",
}


class NotPossibleError(Exception):
    """A step that the table as it is gives no occasion for."""


def execute(spark: SparkSession, history: History, number: int, path: Path) -> None:
    """Do one step of a history to the table at a path."""
    step = history.steps[number]
    given = history.options.items()
    options = {k: v for k, v in given if number == 0 or k not in _ONLY_FIRST}
    options |= step.options
    if number:
        _adapt(options, _properties(path))
    session = {k: options.pop(k) for k in list(options) if k.startswith("spark.")}
    for key, value in session.items():
        spark.conf.set(key, value)
    try:
        _do(spark, history, number, options, path)
    finally:
        for key in session:
            spark.conf.unset(key)


def _do(
    spark: SparkSession, history: History, number: int, options: dict[str, str], path: Path
) -> None:
    step = history.steps[number]
    if history.hudi.startswith((AVRO, JAVA)) and step.rows:
        avro_writer.write(spark, history, number, options, path)
    elif step.kind is StepKind.BOOTSTRAP:
        _bootstrap(spark, step, options, path)
    elif step.kind is StepKind.MERGE_INTO:
        _merge_into(spark, history, step, options, path)
    elif step.kind is StepKind.SQL:
        _sql(spark, step.text.format(table=_table(spark, path)), options, step)
    elif step.kind is StepKind.TABLE_TYPE:
        _change_table_type(path, step.text)
    elif step.kind in _PROCEDURES:
        _call(spark, step, options, path)
    else:
        _write(_rows(spark, step), step, options, path, is_first=number == 0)


def _write(
    rows: DataFrame, step: Step, options: dict[str, str], path: Path, *, is_first: bool
) -> None:
    options["hoodie.datasource.write.operation"] = step.kind.value
    if step.kind is StepKind.DELETE_PARTITION:
        options["hoodie.datasource.write.partitions.to.delete"] = _chosen(
            partition_paths(path), step
        )
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


def _properties(path: Path) -> dict[str, str]:
    lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def _change_table_type(path: Path, kind: str) -> None:
    """Edit the property, for which Apache Hudi has a command only in its shell."""
    file = path / ".hoodie" / "hoodie.properties"
    lines = file.read_text().splitlines()
    key = "hoodie.table.type="
    changed = [f"{key}{kind}" if line.startswith(key) else line for line in lines]
    file.write_text("\n".join(changed) + "\n")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _merge_into(
    spark: SparkSession, history: History, step: Step, options: dict[str, str], path: Path
) -> None:
    keys = list(history.record_keys)
    _rows(spark, step).dropDuplicates(keys).createOrReplaceTempView("source")
    on = " AND ".join(f"t.`{key}` = s.`{key}`" for key in keys)
    text = f"MERGE INTO {_table(spark, path)} t USING source s ON {on} {step.text}"
    _sql(spark, text, options, step)


def _call(spark: SparkSession, step: Step, options: dict[str, str], path: Path) -> None:
    template = _PROCEDURES[step.kind]
    places: dict[str, str] = {"path": str(path)}
    if "{table}" in template:
        places["table"] = _table(spark, path)
    commits = [instant.requested for instant in completed_commits(path)]
    if "{last}" in template:
        if len(commits) < 2:
            raise NotPossibleError
        places["last"] = commits[-1]
    if "{chosen}" in template:
        places["chosen"] = _chosen(commits, step)
    if "{saved}" in template:
        places["saved"] = _chosen(sorted(_savepoints(path)), step)
    _sql(spark, f"CALL {template.format(**places)}", options, step)


def _savepoints(path: Path) -> Iterator[str]:
    for file in (path / ".hoodie").rglob("*.savepoint"):
        if "metadata" not in file.parts:
            yield re.split(r"[_.]", file.name)[0]


def _chosen(values: list[str] | tuple[str, ...], step: Step) -> str:
    if not values:
        raise NotPossibleError
    return values[int(step.text or 0) % len(values)]


def _sql(spark: SparkSession, text: str, options: Mapping[str, str], step: Step) -> None:
    """Run a statement with the session's settings as they are while it runs."""
    session = {key: options[key] for key in _OF_SESSION if key in options} | dict(step.options)
    for key, value in session.items():
        spark.conf.set(key, value)
    try:
        spark.sql(text).collect()
    finally:
        for key in session:
            spark.conf.unset(key)


def _table(spark: SparkSession, path: Path) -> str:
    """A name of the table in the catalog, declared anew so that it has the columns of now."""
    name = "t_" + re.sub(r"\W", "_", path.name)
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    return name


def _rows(spark: SparkSession, step: Step) -> DataFrame:
    ddl = ", ".join(f"`{c.name}` {TYPES[c.type].ddl}" for c in step.columns)
    kinds = [TYPES[c.type] for c in step.columns]
    rows = [
        tuple(_python(k.to_python, v) for k, v in zip(kinds, row, strict=True)) for row in step.rows
    ]
    return spark.createDataFrame(rows, ddl).coalesce(step.files)


def _python(convert: Any, value: Json) -> Any:
    return None if value is None else convert(value)
