"""What an entry stands for: its property first, then Hive's format of an entry of Hive's own."""

import pytest

from hudi_pyspark.catalogs.hive_entry import hive_format, reads_base_files, table_format

BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
MERGED = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
SPARK = {"spark.sql.sources.provider": "hudi"}


@pytest.mark.parametrize(
    ("properties", "input_format", "parameters", "expected"),
    [
        ({}, BASE_FILES, {}, True),
        ({}, "org.apache.hudi.hadoop.HoodieHFileInputFormat", {}, True),
        ({}, MERGED, {}, None),
        ({}, BASE_FILES, SPARK, None),
        ({}, BASE_FILES, {"spark.sql.sources.provider": "hive"}, True),
        ({"hoodie.query.as.ro.table": "false"}, BASE_FILES, {}, False),
        ({"hoodie.query.as.ro.table": "TRUE"}, MERGED, SPARK, True),
        ({"hoodie.datasource.query.type": "read_optimized"}, MERGED, SPARK, True),
        ({"hoodie.datasource.query.type": "incremental"}, MERGED, SPARK, None),
    ],
)
def test_entry_stands_for_base_files(properties, input_format, parameters, expected):
    assert reads_base_files(properties, hive_format(parameters, input_format)) is expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ""),
        (SPARK, "hudi"),
        ({"table_type": "ICEBERG"}, "ICEBERG"),
        ({"table_type": "EXTERNAL_TABLE"}, ""),
        ({"table_type": "DELTA", "spark.sql.sources.provider": "hudi"}, "DELTA"),
    ],
)
def test_entry_names_its_format(parameters, expected):
    assert table_format(parameters) == expected
