"""Read Apache Hudi tables in pure Python, from PySpark or without it."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from hudi_pyspark import errors as _errors
from hudi_pyspark.errors import *  # noqa: F403  (all of its classes)
from hudi_pyspark.version import __version__

if TYPE_CHECKING:
    from hudi_pyspark.custom_mergers import register_payload
    from hudi_pyspark.demo import unpack_demo
    from hudi_pyspark.hudi_table import HudiTable, scan_polars
    from hudi_pyspark.scan import Scan
    from hudi_pyspark.spark.hadoop_settings import storage_options_from_spark
    from hudi_pyspark.spark.session import explain, read, register
    from hudi_pyspark.spark.table_functions import (
        hudi_filesystem_view,
        hudi_query,
        hudi_query_timeline,
        hudi_table_changes,
    )

__all__ = [
    "HudiTable",
    "Scan",
    "__version__",
    "explain",
    "hudi_filesystem_view",
    "hudi_query",
    "hudi_query_timeline",
    "hudi_table_changes",
    "read",
    "register",
    "register_payload",
    "scan_polars",
    "storage_options_from_spark",
    "unpack_demo",
]
__all__ += [name for name, value in vars(_errors).items() if isinstance(value, type)]

# By module. Loaded when they are first named: Spark starts many Python processes, and not all of
# them need these names. Some of the modules import pyspark.
_LOADED_WHEN_NAMED: Final = {
    name: f"hudi_pyspark.{module}"
    for module, names in {
        "custom_mergers": ("register_payload",),
        "demo": ("unpack_demo",),
        "html_table": ("load_ipython_extension", "unload_ipython_extension"),
        "hudi_table": ("HudiTable", "scan_polars"),
        "scan": ("Scan",),
        "spark.hadoop_settings": ("storage_options_from_spark",),
        "spark.session": ("explain", "read", "register"),
        "spark.table_functions": [name for name in __all__ if name.startswith("hudi_")],
    }.items()
    for name in names
}
_OF_SPARK: Final = "hudi_pyspark.spark."


def __getattr__(name: str) -> object:
    module = _LOADED_WHEN_NAMED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not module.startswith(_OF_SPARK):
        return getattr(import_module(module), name)
    from hudi_pyspark.extras import needs_extra  # noqa: PLC0415  (not in Spark's processes)

    with needs_extra("spark"):
        return getattr(import_module(module), name)


def __dir__() -> list[str]:
    """Return the public names; without PySpark those that can be named, so that `help` works."""
    has_spark = find_spec("pyspark") is not None
    return sorted(n for n in __all__ if has_spark or not _module_of(n).startswith(_OF_SPARK))


def _module_of(name: str) -> str:
    return _LOADED_WHEN_NAMED.get(name, __name__)
