"""Expressions of indexes on the columns of one schema."""

import pyarrow as pa

from hudi_pyspark.metadata_table.expression_index import Expression
from hudi_pyspark.metadata_table.index_definitions import IndexDefinition

NAME = pa.field("name", pa.string())
DAY = pa.field("day", pa.date32())
TIME = pa.field("time", pa.timestamp("us", "UTC"))
NUMBER = pa.field("n", pa.int64())
SCHEMA = pa.schema([NAME, DAY, TIME, NUMBER])


def expression(function, column, **options):
    definition = IndexDefinition(
        "expr_index_i", "column_stats", function, column.name, {"expr": function, **options}, 2
    )
    return Expression.of(definition, column)
