"""Names of types without Spark, compared with Spark's own."""

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.columns.type_text import type_text

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "case", ["v9_mor_all_types", "v9_mor_timestamp_ntz", "v9_mor_schema_evolution"]
)
def test_types_have_the_names_of_spark(spark, golden_table, case):
    path = str(golden_table(case))
    columns = spark.read.format("hudi-py").load(path).schema
    assert {field.name: type_text(field.type) for field in HudiTable(path).schema} == {
        field.name: field.dataType.simpleString() for field in columns
    }
