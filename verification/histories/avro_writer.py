"""Writes through Apache Hudi's client with Avro schemas. Runs in the worker process only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from verification.histories.avro_generation import AVRO_TYPES, JAVA
from verification.histories.column_types import Json
from verification.histories.history import Column, History, Step, StepKind

_SPACE = "histories"


def write(
    spark: SparkSession, history: History, number: int, options: Mapping[str, str], path: Path
) -> None:
    """Do one step that writes rows, with the schema of its columns.

    Args:
        spark: has Apache Hudi's bundle.
        history: of a table; its first step creates it.
        number: of the step.
        options: of the table, the write and the step.
        path: of the table.
    """
    step, hudi = history.steps[number], _hudi(spark)
    if number == 0:
        _create(spark, history, step.hudi, path)
    schema = json.dumps(avro_schema(step.columns))
    config = (
        hudi.config.HoodieWriteConfig.newBuilder()
        .withPath(str(path))
        .withSchema(schema)
        .withProps(_properties(spark, {**options, "hoodie.auto.commit": "false"}))
        .build()
    )
    is_java = history.hudi.startswith(JAVA)
    client = _java_client(spark, config) if is_java else _spark_client(spark, config)
    try:
        instant = client.startCommit()
        records = _records(spark, history, step, schema)
        if not is_java:
            records = spark.sparkContext._jsc.parallelize(records, step.files)
        does = {
            StepKind.INSERT: client.insert,
            StepKind.BULK_INSERT: client.bulkInsert,
            StepKind.DELETE: client.delete,
        }.get(step.kind, client.upsert)
        client.commit(instant, does(records, instant))
        if options.get("hoodie.compact.inline") == "true":
            client.runAnyPendingCompactions()
    finally:
        client.close()


def _spark_client(spark: SparkSession, config: Any) -> Any:
    client = _hudi(spark).client
    context = client.common.HoodieSparkEngineContext(spark.sparkContext._jsc)
    return client.SparkRDDWriteClient(context, config)


def _java_client(spark: SparkSession, config: Any) -> Any:
    client = _hudi(spark).client
    context = client.common.HoodieJavaEngineContext(_storage_configuration(spark))
    return client.HoodieJavaWriteClient(context, config)


def _storage_configuration(spark: SparkSession) -> Any:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    return _hudi(spark).hadoop.fs.HadoopFSUtils.getStorageConf(configuration)


def _hudi(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm.org.apache.hudi  # type: ignore[union-attr]


def _properties(spark: SparkSession, values: Mapping[str, str]) -> Any:
    found = spark.sparkContext._jvm.java.util.Properties()  # type: ignore[union-attr]
    for key, value in values.items():
        found.setProperty(key, value)
    return found


def _create(spark: SparkSession, history: History, release: str, path: Path) -> None:
    options = history.options
    generator = "Simple" if history.partition_fields else "Nonpartitioned"
    is_by_event = bool(history.ordering_fields)
    found = {
        "hoodie.table.name": "t",
        "hoodie.table.type": options["hoodie.datasource.write.table.type"],
        "hoodie.table.recordkey.fields": ",".join(history.record_keys),
        "hoodie.table.keygenerator.class": f"org.apache.hudi.keygen.{generator}KeyGenerator",
        "hoodie.datasource.write.hive_style_partitioning": str(history.is_hive_style).lower(),
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING"
        if is_by_event
        else "COMMIT_TIME_ORDERING",
    }
    if history.partition_fields:
        found["hoodie.table.partition.fields"] = ",".join(history.partition_fields)
    if is_by_event:
        name = "precombine.field" if release < "1.1" else "ordering.fields"
        found[f"hoodie.table.{name}"] = ",".join(history.ordering_fields)
    client = _hudi(spark).common.table.HoodieTableMetaClient
    is_old = release.startswith("0.")
    builder = client.withPropertyBuilder() if is_old else client.newTableBuilder()
    builder = builder.fromProperties(_properties(spark, found))
    if not is_old:
        builder = builder.setTableVersion(history.table_version)
    builder.initTable(_storage_configuration(spark), str(path))


def avro_schema(columns: tuple[Column, ...]) -> dict[str, Any]:
    seen: set[str] = set()
    fields = [
        {"name": c.name, "type": ["null", _type(c.type, seen)], "default": None} for c in columns
    ]
    return {"type": "record", "name": "row", "namespace": _SPACE, "fields": fields}


def _type(kind: str, seen: set[str]) -> Any:
    """Return a type's schema; a fixed type that was defined before is a name."""
    schema = AVRO_TYPES[kind].schema
    name = schema.get("name") if isinstance(schema, dict) else None
    if name in seen:
        return f"{_SPACE}.{name}"
    if name is not None:
        seen.add(name)
    return schema


def _branch(kind: str) -> str:
    """Return how Avro's JSON names a type in a union."""
    schema = AVRO_TYPES[kind].schema
    if isinstance(schema, str):
        return schema
    return f"{_SPACE}.{schema['name']}" if "name" in schema else str(schema["type"])


def avro_json(columns: tuple[Column, ...], row: tuple[Json, ...]) -> dict[str, Json]:
    """Return a row as Avro's JSON has it: a value that is not null with its branch of the union."""
    return {
        column.name: None if value is None else {_branch(column.type): value}
        for column, value in zip(columns, row, strict=True)
    }


def _records(spark: SparkSession, history: History, step: Step, schema: str) -> Any:
    """Return the step's rows as a list of records, or of keys where they are deleted."""
    jvm: Any = spark.sparkContext._jvm
    model, avro = _hudi(spark).common.model, jvm.org.apache.avro
    parsed = avro.Schema.Parser().parse(schema)
    decoders = avro.io.DecoderFactory.get()
    found = jvm.java.util.ArrayList()
    for row in step.rows:
        values = dict(zip((c.name for c in step.columns), row, strict=True))
        key = model.HoodieKey(values["id"], history.partition_path(values))
        if step.kind is StepKind.DELETE:
            found.add(key)
            continue
        decoder = decoders.jsonDecoder(parsed, json.dumps(avro_json(step.columns, row)))
        record = avro.generic.GenericDatumReader(parsed).read(None, decoder)
        if history.ordering_fields:
            order = jvm.java.lang.Long.valueOf(values["ts"])
            payload = model.DefaultHoodieRecordPayload(record, order)
        else:
            order = jvm.java.lang.Integer.valueOf(0)
            payload = model.OverwriteWithLatestAvroPayload(record, order)
        found.add(model.HoodieAvroRecord(key, payload))
    return found
