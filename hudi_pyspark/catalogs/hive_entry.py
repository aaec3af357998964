"""What an entry of a Hive Metastore or of Glue says about reads, whoever finds the entry."""

from __future__ import annotations

from collections.abc import Mapping

# Apache Hudi's sync writes it into the entries `…_ro` and `…_rt`.
READ_OPTIMIZED = "hoodie.query.as.ro.table"
_QUERY_TYPE = "hoodie.datasource.query.type"
_FORMATS_OF_BASE_FILES = (
    "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    "org.apache.hudi.hadoop.HoodieHFileInputFormat",
)
_PROVIDER = "spark.sql.sources.provider"
_HIVE = "hive"
_OTHER_TABLE_TYPES = ("iceberg", "delta")


def reads_base_files(properties: Mapping[str, str], hive_format: str) -> bool | None:
    """Decide whether an entry stands for the base files alone; None if it does not say.

    Args:
        properties: of the entry's storage, which Hive calls those of the serde.
        hive_format: Hive's input format, if the entry is one that Spark reads as Hive does; "" for
            an entry of a data source, whose input format Spark ignores.
    """
    text = properties.get(READ_OPTIMIZED, "")
    if text:
        return text.lower() == "true"
    if hive_format in _FORMATS_OF_BASE_FILES:
        return True
    return properties.get(_QUERY_TYPE, "").lower() == "read_optimized" or None


def table_format(parameters: Mapping[str, str]) -> str:
    """Return the format that the parameters of a table name, "" if they name none.

    Spark names a data source, engines that read Iceberg or Delta Lake in Hive's entries a type.
    """
    table_type = parameters.get("table_type", "")
    provider = parameters.get(_PROVIDER, "")
    return table_type if table_type.lower() in _OTHER_TABLE_TYPES else provider


def hive_format(parameters: Mapping[str, str], input_format: str) -> str:
    """Return the input format of an entry, or "" if the entry is one of a data source of Spark.

    Args:
        parameters: of the table.
        input_format: that the entry's storage has.
    """
    return input_format if parameters.get(_PROVIDER, _HIVE) == _HIVE else ""
