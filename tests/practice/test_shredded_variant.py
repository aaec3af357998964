"""A table whose base file was replaced by one in which Spark 4.3 shreds the VARIANT column.

The commit names the size of that file. The rows are those of Spark's own reader.
"""

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from tests.columns.shredded import NEEDS_PYARROW_22
from tests.columns.variant_oracle import decoded_in

pytestmark = NEEDS_PYARROW_22


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("shredded_variant/variant_mixed"))


def test_variants_that_a_file_shreds_are_those_that_spark_reads(table):
    rows = table.scan(["id", "v"]).to_arrow().to_pylist()
    values = {row["id"]: decoded_in(row["v"]) for row in rows}
    assert len(values) == 40
    for number in (6, 7, 39):
        fields = {"currency": ("text", b"EUR"), "price": (3, bytes([number]))}
        note = {"note": ("text", b"only here")} if number == 7 else {}
        assert values[number] == {**fields, **note}


def test_columns_beside_a_shredded_variant_are_read(table):
    assert table.scan(["id"]).to_arrow().num_rows == table.scan().count() == 40


@pytest.mark.parametrize("part", ["value", "metadata"])
def test_binaries_of_a_variant_are_no_columns_of_a_filter(table, part):
    with pytest.raises(InvalidOptionError, match=f"no column 'v.{part}'"):
        table.scan(["id"], filter=f"v.{part} IS NOT NULL")
