"""Tables by name in a Hive Metastore: entries as Apache Hudi's sync writes them."""

from importlib.util import find_spec

import pytest

from tests.practice.conftest import practice_table
from tests.spark.deployment import client, metastore_server
from tests.spark.named_tables import MOR, number_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_environment")]

__all__ = ["practice_table"]  # a fixture

# Entries as Apache Hudi's sync writes them, made by the metastore's own client.
HIVE = """
import json, os, shutil, sys
from pathlib import Path
from pyspark.sql import SparkSession
import hudi_pyspark

table, two, folder, uri = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.memory", "1g").config("spark.log.level", "OFF")
if uri:
    builder = builder.config("spark.hadoop.hive.metastore.uris", uri)
spark = builder.config("spark.sql.warehouse.dir", folder + "/w").enableHiveSupport().getOrCreate()
hudi_pyspark.register(spark, tables=True)
jvm = spark._jvm
client = jvm.org.apache.hadoop.hive.ql.metadata.Hive.get().getMSC()
api = jvm.org.apache.hadoop.hive.metastore.api
columns = ["id", "name"]
schema = {"type": "struct", "fields": [
    {"name": name, "type": "string", "nullable": True, "metadata": {}}
    for name in (*columns, "region")
]}
def list_of(values):
    made = jvm.java.util.ArrayList()
    for value in values:
        made.add(value)
    return made
def sync(name, stored, kind="EXTERNAL_TABLE", provider="hudi", properties={},
         reader="realtime.HoodieParquetRealtimeInputFormat", location=table, keys=("region",)):
    entry = api.Table()
    entry.setDbName("default"); entry.setTableName(name); entry.setTableType(kind)
    storage = api.StorageDescriptor()
    storage.setCols(list_of(
        api.FieldSchema(column, "string", "its " + column) for column in columns))
    storage.setLocation("file:" + location)
    storage.setInputFormat("org.apache.hudi.hadoop." + reader)
    storage.setOutputFormat("org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat")
    serde = api.SerDeInfo()
    serde.setSerializationLib("org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe")
    serde.setParameters({"path": "file:" + location, "serialization.format": "1", **stored})
    storage.setSerdeInfo(serde); entry.setSd(storage)
    entry.setPartitionKeys(list_of(api.FieldSchema(key, "string", "") for key in keys))
    known = {"last_commit_time_sync": "20261121062657910", **properties}
    if kind == "EXTERNAL_TABLE":
        known["EXTERNAL"] = "TRUE"
    if provider:
        known |= {
            "spark.sql.sources.provider": provider,
            "spark.sql.sources.schema.numPartCols": "1",
            "spark.sql.sources.schema.partCol.0": "region",
            "spark.sql.sources.schema.numParts": "1",
            "spark.sql.sources.schema.part.0": json.dumps(schema),
        }
    entry.setParameters(known)
    client.createTable(entry)

AS_BASE_FILES = "hoodie.query.as.ro.table"
sync("t_ro", {AS_BASE_FILES: "true"})
sync("t_rt", {AS_BASE_FILES: "false"})
sync("t", {"primaryKey": "id"})
sync("t_option", {"hoodie.datasource.query.type": "read_optimized"})
sync("hive_rt", {AS_BASE_FILES: "false"}, provider="")
sync("hive_ro", {}, provider="", reader="HoodieParquetInputFormat")
sync("two", {}, location=two)
sync("hive_two", {}, provider="", location=two, keys=("region", "hour"))
own = folder + "/w/own"
shutil.copytree(table, own)
files = lambda: sorted(map(str, Path(own).rglob("*")))
before = files()
sync("own", {}, kind="MANAGED_TABLE", location=own)
sync("own_hive", {}, kind="MANAGED_TABLE", provider="", location=own)
sync("purged", {}, properties={"external.table.purge": "TRUE"}, location=own)
count = lambda source: spark.sql("SELECT count(*), count(id) FROM " + source).head()
answers = {name: count(name) for name in (
    "t_ro", "t_rt", "t", "t_option", "hive_rt", "hive_ro", "own",
    "t_ro WITH (query_type = 'snapshot')",
)}
spark.sql("CREATE VIEW kept AS SELECT o.id, r.name FROM t o JOIN hive_ro r USING (id)")
spark.sql("CREATE TABLE copied USING parquet AS SELECT * FROM t_rt")
answers["copied"] = count("copied")
answers["orders"] = [spark.table(name).columns[5:] for name in ("two", "hive_two")]
answers["comment"] = spark.table("hive_two").schema["id"].metadata
answers["newer"] = "qty" in spark.table("t").columns  # than the schema of the entry
answers["partitions"] = [
    row.col_name for row in spark.sql("DESCRIBE t").collect() if row.data_type == "string"
].count("region")
for name in ("own", "own_hive", "purged", "t_ro", "copied"):
    spark.sql("DROP TABLE " + name)
spark.sql("DROP TABLE t_rt PURGE")
answers["listed"] = sorted(row.tableName for row in spark.sql("SHOW TABLES").collect())
answers["kept"] = before == files() and bool(before)
print("ANSWERS", json.dumps(answers))
spark.stop()
"""

# Another session, which also asks the server by the client of this package.
SECOND = """
import json, sys
from pyspark.sql import SparkSession
import hudi_pyspark

folder, uri, *catalogs = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.memory", "1g").config("spark.log.level", "OFF")
builder = builder.config("spark.hadoop.hive.metastore.uris", uri)
spark = builder.config("spark.sql.warehouse.dir", folder + "/w").enableHiveSupport().getOrCreate()
settings = {"type": "hive", "uri": uri}
hudi_pyspark.register(spark, tables=True, catalogs=dict.fromkeys(catalogs, settings))
entries = ("t", "t_option", "hive_ro", "two", "hive_two")
names = [*entries, "kept", *(f"{name}.default.{entry}" for name in catalogs for entry in entries)]
answers = {name: spark.table(name).count() for name in names}
answers["orders"] = [
    spark.table(f"{name}.default.{entry}").columns == spark.table(entry).columns
    for name in catalogs for entry in entries
]
answers["listed"] = sorted(row.tableName for row in spark.sql("SHOW TABLES").collect())
spark.sql("CREATE TABLE made USING hudi LOCATION '" + spark.sql("DESCRIBE EXTENDED t").where(
    "col_name = 'Location'").head().data_type + "'")
answers["made"] = spark.table("made").count()
for name in ("made", "t"):
    spark.sql("DROP TABLE " + name)
answers["left"] = sorted(row.tableName for row in spark.sql("SHOW TABLES").collect())
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


def answers_of_a_session(paths, folder, uri):
    """The answers of the script, which makes entries, reads them and drops some."""
    folder.joinpath("w").mkdir(exist_ok=True)
    return client(HIVE, *paths, str(folder), uri, cwd=folder)


def expected_answers():
    snapshot = [number_of("snapshot")] * 2
    base_files = [number_of("read_optimized")] * 2
    assert snapshot != base_files
    return {
        "t_ro": base_files,
        "t_rt": snapshot,
        "t": snapshot,
        "t_option": base_files,
        "hive_rt": snapshot,
        "hive_ro": base_files,
        "own": snapshot,
        "t_ro WITH (query_type = 'snapshot')": snapshot,
        "copied": snapshot,
        # The partition columns of the table's properties, and those that only Hive knows.
        "orders": [["id", "name", "ts", "hour", "region"], ["id", "name", "ts", "region", "hour"]],
        "comment": {"comment": "its id"},
        "newer": True,
        "partitions": 2,
        "listed": ["hive_ro", "hive_rt", "hive_two", "kept", "t", "t_option", "two"],
        "kept": True,
    }


@pytest.fixture
def paths(golden_table, practice_table):
    return str(golden_table(MOR)), str(practice_table("column_order_by_name/two"))


def test_entries_of_a_hive_metastore_are_read_and_dropped(paths, tmp_path):
    assert answers_of_a_session(paths, tmp_path, "") == expected_answers()  # of Derby


@pytest.mark.cluster
def test_sessions_share_the_entries_of_a_server_of_hive_metastore(paths, tmp_path):
    catalogs = ["lake"] if find_spec("pymetastore") else []  # the extra
    with metastore_server(tmp_path) as uri:
        assert answers_of_a_session(paths, tmp_path, uri) == expected_answers()
        found = client(SECOND, str(tmp_path), uri, *catalogs, cwd=tmp_path)
    number = number_of("snapshot")
    base_files = number_of("read_optimized")
    numbers = {"t": number, "t_option": base_files, "hive_ro": base_files, "two": 1, "hive_two": 1}
    mounted = {f"{c}.default.{entry}": numbers[entry] for c in catalogs for entry in numbers}
    assert found == {
        **numbers,
        "kept": number,
        **mounted,
        "orders": [True] * len(mounted),
        "listed": ["hive_ro", "hive_rt", "hive_two", "kept", "t", "t_option", "two"],
        "made": number,
        "left": ["hive_ro", "hive_rt", "hive_two", "kept", "t_option", "two"],
    }
