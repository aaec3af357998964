"""Tests of conversions between Arrow schemas and Spark's, which need no session."""

import pytest
from pyspark.sql.types import ArrayType, CharType, StructField, StructType, VarcharType

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.spark.schema import arrow_schema_of


@pytest.mark.parametrize("spelled", [CharType(6), VarcharType(20), ArrayType(VarcharType(20))])
def test_text_of_a_declared_length_is_refused_with_advice(spelled):
    """Spark keeps these types in the columns of CREATE VIEW, and its own worker fails at them."""
    with pytest.raises(InvalidOptionError, match=r"(?s)(Char|Varchar)Type.*request string instead"):
        arrow_schema_of(StructType([StructField("name", spelled)]))
