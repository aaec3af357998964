"""VARIANT columns: the bytes come from Spark itself, and go back to it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.reading.variant_tables import rows, write_table
from tests.written_table import WrittenTable

pytestmark = pytest.mark.spark

TEXTS = ['{"a":1,"b":[1,2,"x"]}', '"text"', None, "null", "2.5"]
_SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "int"},
        {
            "name": "v",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "variant",
                    "logicalType": "variant",
                    "fields": [
                        {"name": "metadata", "type": "bytes"},
                        {"name": "value", "type": "bytes"},
                    ],
                },
            ],
            "default": None,
        },
    ],
}
_PROPERTIES = {"hoodie.table.type": "COPY_ON_WRITE", "hoodie.populate.meta.fields": "false"}


@pytest.fixture(params=["spark", "ruled"])
def session(spark, request):
    """A session that reads rows, and one that reads columns."""
    return spark if request.param == "spark" else request.getfixturevalue("ruled")


@pytest.fixture
def table(spark, tmp_path):
    """A small table whose base file holds what Spark makes of some JSON texts."""
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "id int, j string")
    values = rows.selectExpr("id", "parse_json(j) v").orderBy("id").collect()
    stored = [v and {"metadata": bytes(v.metadata), "value": bytes(v.value)} for _, v in values]
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    ids = pa.array([row.id for row in values], pa.int32())
    name = "f-0_0-0-0_20240101000000000.parquet"
    table = WrittenTable(tmp_path, _SCHEMA, _PROPERTIES)
    table.put_parquet(name, pa.table({"id": ids, "v": pa.array(stored, kind)}))
    table.commit("20240101000000000", "commit", [("f-0", name)], operation="INSERT")
    return str(tmp_path)


def test_variant_column_is_a_variant_in_spark(session, table):
    frame = session.read.format("hudi-py").load(table)
    assert frame.schema["v"].dataType.simpleString() == "variant"
    texts = [row.j for row in frame.selectExpr("id", "to_json(v) j").orderBy("id").collect()]
    assert texts == TEXTS


def test_fields_of_a_variant_are_read_by_path(session, table):
    frame = session.read.format("hudi-py").load(table)
    found = frame.where("id = 0").selectExpr("variant_get(v, '$.b[2]', 'string') x").collect()
    assert [row.x for row in found] == ["x"]


def test_variants_that_files_shred_are_variants_at_any_depth(session, tmp_path):
    write_table(tmp_path, rows([1, 2], 1, "a"), rows([2, 3], 2, "both"))
    frame = session.read.format("hudi-py").load(str(tmp_path))
    assert frame.schema["s"].dataType.simpleString() == "struct<n:int,v:variant>"
    columns = ["v", "s.v", "l[0]", "m['k']", "o[0].v"]
    found = frame.selectExpr("id", *(f"to_json({column})" for column in columns)).collect()
    texts = {row[0]: set(row[1:]) for row in found}
    assert texts == {number: {f'{{"a":{number},"b":"x"}}'} for number in (1, 2, 3)}
    assert frame.where("variant_get(s.v, '$.a', 'int') = 3").select("o.n").collect() == [([3],)]
