"""A table whose base file was replaced by one in which Spark 4.3 shreds the VARIANT column."""

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, SchemaEvolutionError

pytestmark = pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < 22, reason="pyarrow 22 is the first that reads VARIANT"
)


@pytest.fixture
def table(practice_table):
    return HudiTable(practice_table("shredded_variant/variant_mixed"))


def test_variant_that_a_file_shreds_is_refused_by_name(table):
    with pytest.raises(SchemaEvolutionError, match=r"parquet: column 'v' .*shreds the variant"):
        table.scan(["v"]).to_arrow()


def test_columns_beside_a_shredded_variant_are_read(table):
    assert table.scan(["id"]).to_arrow().num_rows == table.scan().count() == 40


@pytest.mark.parametrize("part", ["value", "metadata"])
def test_binaries_of_a_variant_are_no_columns_of_a_filter(table, part):
    with pytest.raises(InvalidOptionError, match=f"no column 'v.{part}'"):
        table.scan(["id"], filter=f"v.{part} IS NOT NULL")
