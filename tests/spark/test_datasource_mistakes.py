"""What the source cannot do, and says so: writes, several paths, patterns."""

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from tests.conftest import PATIENCE

pytestmark = pytest.mark.spark
ONLY_READS = r"\[HUDI_UNSUPPORTED_QUERY\] this source only reads: write tables with Apache Hudi"


@pytest.fixture(scope="module")
def table(golden_table):
    return str(golden_table("v9_mor_clustering"))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_write_is_refused(spark, tmp_path, mode):
    with pytest.raises(AnalysisException, match=ONLY_READS) as raised:
        spark.range(1).write.format("hudi-py").mode(mode).save(str(tmp_path))
    assert "Traceback" not in str(raised.value)


def test_write_into_a_table_of_a_catalog_is_refused_without_a_traceback(spark):
    with pytest.raises(AnalysisException, match=ONLY_READS) as raised:
        spark.range(1).write.format("hudi-py").saveAsTable("never_made")
    spark.sql("DROP TABLE IF EXISTS never_made")  # Spark keeps the entry that it made before
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize("mode", ["ignore", "error"])
def test_write_in_the_other_modes_is_refused_by_spark_itself(spark, tmp_path, mode):
    with pytest.raises(AnalysisException, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
        spark.range(1).write.format("hudi-py").mode(mode).save(str(tmp_path))


def test_write_of_a_stream_is_refused(spark, tmp_path):
    rows = spark.readStream.format("rate").load().writeStream.format("hudi-py")
    query = rows.option("checkpointLocation", str(tmp_path)).start(str(tmp_path / "new"))
    with pytest.raises(StreamingQueryException, match=ONLY_READS):
        query.awaitTermination(PATIENCE)


def test_several_paths_are_refused(spark, table):
    with pytest.raises(AnalysisException, match=r"several paths are given.*Combine .* union\(\)"):
        spark.read.format("hudi-py").load([table, table])


def test_pattern_is_refused(spark, table):
    with pytest.raises(
        AnalysisException, match=r"clusterin\? does not exist, and patterns are not"
    ):
        spark.read.format("hudi-py").load(table.removesuffix("g") + "?")


def test_relative_path_is_named_with_the_folder_where_it_was_looked_for(spark):
    with pytest.raises(
        AnalysisException, match=r"/no/table does not exist .*'no/table' is a relat"
    ):
        spark.read.format("hudi-py").load("no/table")


def test_begin_of_a_stream_leads_to_start_offset(spark, table):
    frame = spark.readStream.format("hudi-py").option("begin", "earliest").load(table)
    query = frame.writeStream.format("noop").start()
    with pytest.raises(StreamingQueryException, match="a stream, which starts at start_offset"):
        query.awaitTermination(PATIENCE)


def test_write_under_the_second_name_says_whose_name_it_is(sql, tmp_path):
    """After ``register(spark, tables=True)``, a job that writes hits the reader."""
    rows = sql.createDataFrame([(1,)], "id int")  # makes this session the active one
    message = r"\[HUDI_UNSUPPORTED_QUERY\] in this session format\('hudi'\) is hudi-pyspark"
    with pytest.raises(AnalysisException, match=message) as raised:
        rows.write.format("hudi").mode("append").save(str(tmp_path))
    assert "Traceback" not in str(raised.value)
