"""Random variants that Spark shreds, and what is made of them; see `verification/README.md`."""

import pyarrow as pa
import pytest

from tests.columns.shredded import NEEDS_PYARROW_22, group, metadata, variants
from verification import shredded_variants
from verification.shredded_variants import answers_of_spark, differences, write_shredded


def test_columns_of_nulls_are_left_out_beside_typed_values_alone():
    typed = pa.struct([("a", group(pa.int32())), ("b", pa.struct([("value", pa.binary())]))])
    fields: dict[str, object] = {"a": {"typed_value": 1}, "b": {}}
    array = variants([{"typed_value": fields}, None], typed, metadata("a", "b"))
    narrow = shredded_variants.without_empty_values(array)
    assert narrow.type.names == ["metadata", "typed_value"]
    kept: dict[str, object] = {"a": {"typed_value": 1}, "b": {"value": None}}
    assert narrow.to_pylist() == [{"metadata": metadata("a", "b"), "typed_value": kept}, None]


@NEEDS_PYARROW_22
@pytest.mark.spark
def test_variants_that_spark_shreds_now_are_those_that_it_reads(spark, tmp_path):
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        pytest.skip("Spark 4.1 is the first that shreds variants")
    session = spark.newSession()
    for seed in (10_001, 10_002, 10_003):
        path = write_shredded(session, tmp_path / str(seed), seed)
        assert differences(path, answers_of_spark(session, path)) == []
