"""The lines for Spark that a report shows below "Reading it" give Apache Hudi's rows."""

import pytest

from hudi_pyspark import HudiTable
from tests.report.reading_lines import CASES, expected_rows, texts

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", CASES)
def test_lines_for_spark_give_the_rows_that_hudi_gives(spark, golden_table, case):
    lines = HudiTable(golden_table(case)).report().content["reading"]["spark"]
    for name, expected in zip(("snapshot", "incremental"), expected_rows(case), strict=True):
        frame = eval(lines[name], {"spark": spark})
        assert texts(frame.toArrow().cast(expected.schema)) == texts(expected), name
