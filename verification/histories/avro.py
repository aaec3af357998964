"""Tables whose schema is Avro's, with the logical types that Spark has not.

Apache Hudi's write client takes the schema, as its streamer and Java users do. Spark only reads:
`write` runs in its process.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from verification.histories.column_types import ColumnType, Json
from verification.histories.generation import Maker
from verification.histories.history import Column, History, Step, StepKind
from verification.histories.spark_generation import table_versions

AVRO = "avro-"  # before the release that writes
JAVA = "java-"  # likewise: with the client that needs no Spark
WRITERS = (AVRO, JAVA)
_SPACE = "histories"
_DECIMAL = {"logicalType": "decimal", "precision": 12, "scale": 2}
_FIXED_BYTES = 6


def _logical(physical: str, name: str, least: int, most: int, *others: str) -> ColumnType:
    """Return a logical type whose values are numbers."""
    schema = {"type": physical, "logicalType": name}
    return ColumnType(schema, lambda random: random.randint(least, most), others)


_MILLIS = (-(10**11), 2 * 10**12)
_MICROS = (-(10**14), 2 * 10**15)
_SECONDS_OF_A_DAY = 86_400


def _unscaled(random: Random, size: int | None) -> str:
    number = random.randint(-(10**9), 10**9)
    width = (number.bit_length() + 8) // 8 if size is None else size
    return number.to_bytes(width, "big", signed=True).decode("latin-1")


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


# Their values are as Avro's JSON has them; a later schema may say another unit.
AVRO_TYPES: Mapping[str, ColumnType] = {
    "int": ColumnType("int", lambda r: r.randint(-9, 99)),
    "long": ColumnType("long", lambda r: r.randint(-(10**12), 10**12)),
    "double": ColumnType("double", lambda r: r.random() * 100),
    "string": ColumnType("string", lambda r: r.choice(["", "x", "ü"])),
    "boolean": ColumnType("boolean", lambda r: r.random() < 0.5),
    "date": _logical("int", "date", -9999, 30000),
    "timestamp_millis": _logical("long", "timestamp-millis", *_MILLIS, "timestamp_micros"),
    "timestamp_micros": _logical("long", "timestamp-micros", *_MICROS, "timestamp_millis"),
    "local_millis": _logical("long", "local-timestamp-millis", *_MILLIS, "local_micros", "long"),
    "local_micros": _logical("long", "local-timestamp-micros", *_MICROS, "local_millis", "long"),
    "time_millis": _logical("int", "time-millis", 0, _SECONDS_OF_A_DAY * 10**3 - 1),
    "time_micros": _logical("long", "time-micros", 0, _SECONDS_OF_A_DAY * 10**6 - 1),
    "uuid": ColumnType({"type": "string", "logicalType": "uuid"}, _uuid),
    "fixed_decimal": ColumnType(
        {"type": "fixed", "name": "six_bytes", "size": _FIXED_BYTES, **_DECIMAL},
        lambda r: _unscaled(r, _FIXED_BYTES),
    ),
    "bytes_decimal": ColumnType({"type": "bytes", **_DECIMAL}, lambda r: _unscaled(r, None)),
}


@dataclass
class AvroMaker(Maker):
    """Makes a history whose columns have types of Avro."""

    def history(self, name: str, hudi: str) -> History:
        """Make a history for the write client of a release."""
        self.version = max(table_versions(self.hudi))
        made = super().history(name, hudi)
        return made.with_steps(tuple(replace(step, hudi=self.hudi) for step in made.steps))

    def draw_types(self) -> list[str]:
        found = super().draw_types()
        if {*found} & {"local_millis", "local_micros"} and self.random.random() < 0.8:
            # Without milliseconds Apache Hudi does not repair local timestamps of older releases.
            found = list(dict.fromkeys([*found, "timestamp_millis"]))
        return found

    def all_columns(self) -> tuple[Column, ...]:
        pairs = [("id", "string"), ("ts", "long"), ("seq", "int"), *self.columns.items()]
        return tuple(Column(name, kind) for name, kind in [*pairs, ("p", "string")])


def write(
    spark: SparkSession, history: History, number: int, options: Mapping[str, str], path: Path
) -> None:
    """Do one step that writes rows, with the schema of its columns; the first creates the table.

    The options are those of the table, the write and the step.
    """
    step = history.steps[number]
    hudi = _hudi(spark)
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
    client = _client(spark, config, is_java=is_java)
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


def _client(spark: SparkSession, config: Any, *, is_java: bool) -> Any:
    client = _hudi(spark).client
    if is_java:
        context = client.common.HoodieJavaEngineContext(_storage_configuration(spark))
        return client.HoodieJavaWriteClient(context, config)
    context = client.common.HoodieSparkEngineContext(spark.sparkContext._jsc)
    return client.SparkRDDWriteClient(context, config)


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
    schema = AVRO_TYPES[kind].declared
    name = schema.get("name") if isinstance(schema, dict) else None
    if name in seen:
        return f"{_SPACE}.{name}"
    if name is not None:
        seen.add(name)
    return schema


def _branch(kind: str) -> str:
    """Return how Avro's JSON names a type in a union."""
    schema = AVRO_TYPES[kind].declared
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
    model = _hudi(spark).common.model
    avro = jvm.org.apache.avro
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
