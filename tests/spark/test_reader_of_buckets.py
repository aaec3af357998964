"""Spark reads only the buckets of keys: those of a condition, and of the small side of a join."""

import pytest
from pyspark.sql import functions as sf

from tests.planning.bucket_tables import damaged_elsewhere
from tests.spark.frames import load

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_keys_of_a_join_choose_buckets(ruled, tmp_path, adaptive):
    path, row = damaged_elsewhere(tmp_path)
    ruled.conf.set("spark.sql.adaptive.enabled", adaptive)
    ruled.conf.set("spark.hudi-py.optimizer.joins.leastBytes", "0")
    ruled.range(1).select(sf.lit(row["id"]).alias("id")).write.parquet(str(tmp_path / "keys"))
    keys = ruled.read.parquet(str(tmp_path / "keys")).where("id > ''")
    joined = load(ruled, path).join(sf.broadcast(keys), "id").select("ts")
    assert [found["ts"] for found in joined.collect()] == [row["ts"]]


def test_conditions_choose_buckets(ruled, tmp_path):
    path, row = damaged_elsewhere(tmp_path)
    found = load(ruled, path).where(sf.col("id") == row["id"]).select("ts").collect()
    assert [each["ts"] for each in found] == [row["ts"]]
    whole = load(ruled, path, data_skipping="false").where(sf.col("id") == row["id"])
    with pytest.raises(Exception, match="not readable as Parquet"):
        whole.collect()
