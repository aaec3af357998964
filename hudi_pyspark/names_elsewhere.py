"""What to call here instead of what other libraries have under other names.

PyIceberg, delta-rs, polars and PySpark name some methods differently. An `AttributeError` says so.
"""

from collections.abc import Mapping
from typing import Final

from hudi_pyspark.wording import did_you_mean

_ALIKE = 0.75  # of a name and its misspelling by a letter or two


def _by_name(calls: Mapping[str, str]) -> dict[str, str]:
    return {name: call for call, names in calls.items() for name in names.split()}


OF_TABLE: Final = _by_name(
    {
        "table.scan(filter=\"id = 'k1'\")": "filter where",
        "table.scan(['id', 'ts'])": "select with_columns",
        "table.scan(limit=10)": "limit",
        "table.scan(as_of=instant)": "load_as_version",
        "table.scan(begin=instant) or table.changes()": "incremental load_cdf",
        "table.rows.head()": "head show take",
        "table.scan().count()": "count num_rows shape",
        "table.scan().explain()": "explain",
        "table.scan().plan()": "plan_files",
        "table.scan().to_batches()": "to_batches to_reader",
        "table.scan().to_spark(spark)": "to_spark toDF",
        "table.to_pandas()": "toPandas to_df df",
        "table.to_polars() or hudi_pyspark.scan_polars": "collect fetch lazy",
        "table.to_arrow()": "read to_pyarrow_table to_table",
        "table.dataset()": "to_dataset to_pyarrow_dataset",
        "table.last_instant": "version current_snapshot",
        "table.inspect.commits()": "snapshots commits timeline",
        "table.inspect.files()": "files file_uris get_add_actions",
        "table.inspect.partitions()": "partitions",
        "table.config or table.inspect.properties()": "metadata properties",
        "table.config.name": "name",
        "table.path": "location table_uri uri",
        "Apache Hudi, since this package only reads": "append overwrite delete upsert merge update "
        "write restore create optimize compact vacuum transaction alter",
    }
)
"""By the name that a table lacks."""

OF_SCAN: Final = _by_name(
    {
        "scan.filter(\"id = 'k1'\")": "where filtered",
        "scan.head(10) or table.scan(limit=10)": "limit take show",
        "scan.to_polars()": "collect fetch group_by groupby sort join with_columns",
        "hudi_pyspark.scan_polars(path)": "lazy",
        "scan.to_pandas()": "toPandas to_df df",
        "scan.to_arrow()": "read_all to_pyarrow_table to_table",
        "scan.to_batches()": "to_arrow_batch_reader to_reader to_record_batches",
        "scan.to_dataset()": "to_pyarrow_dataset",
        "scan.plan()": "plan_files",
        "scan.count()": "num_rows shape",
        "scan.columns": "column_names",
        "scan.schema": "dtypes printSchema",
    }
)
"""By the name that a scan lacks."""

OF_INSPECTION: Final = _by_name(
    {
        "table.inspect.commits()": "snapshots",
        "table.inspect.file_slices()": "manifests entries all_manifests",
        "table.inspect.files()": "data_files delete_files all_files all_data_files "
        "all_delete_files",
        "table.inspect.savepoints()": "refs",
        "table.inspect.timeline()": "metadata_log_entries",
    }
)
"""By the name that the tables about a table lack, as PyIceberg calls its own."""


def look_elsewhere(value: object, name: str, instead: Mapping[str, str]) -> object:
    """Fail as Python does if an object lacks a name, and say what to use instead, if known.

    Raises:
        AttributeError: always. If a property has the name, it is the property's own error.
    """
    text = f"{type(value).__name__!r} object has no attribute {name!r}"
    if name in instead:
        raise AttributeError(f"{text}: use {instead[name]}", name=name, obj=value)
    if not name.startswith("_") and not hasattr(type(value), name):
        public_names = [known for known in dir(value) if not known.startswith("_")]
        # Without the object, of which a terminal of Python would say the same once more.
        if hint := did_you_mean(name, public_names, cutoff=_ALIKE):
            raise AttributeError(f"{text}{hint}", name=name)
    return object.__getattribute__(value, name)
