"""The table of stores: which ones there are, and what differs between them."""

from typing import Any, Final

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.storage.file_systems import FileSystem
from hudi_pyspark.storage.stores.azure import AZURE
from hudi_pyspark.storage.stores.gcs import GCS
from hudi_pyspark.storage.stores.hdfs import HDFS
from hudi_pyspark.storage.stores.of_fsspec import MEMORY, OSS, WEBHDFS
from hudi_pyspark.storage.stores.s3 import S3
from hudi_pyspark.storage.stores.store import Authority, Store

__all__ = ["STORES", "Authority", "Store", "store_of"]

STORES: Final = (S3, GCS, AZURE, HDFS, WEBHDFS, OSS, MEMORY)
_BY_SCHEME = {scheme: store for store in STORES for scheme in store.schemes}


def store_of(scheme: str) -> Store:
    """Return the store of a scheme; for an unknown scheme, one that cannot be connected to."""
    return _BY_SCHEME.get(scheme) or Store(scheme, Authority.HOST, _refuse, takes_any_setting=True)


def _refuse(scheme: str, _authority: str, _arguments: dict[str, Any]) -> FileSystem:
    raise InvalidOptionError(
        f"{scheme}:// is not supported",
        advice=(
            "Supported: local paths, s3://, gs://, abfss://, hdfs://, webhdfs://, oss://; or pass "
            "a file system of fsspec to HudiTable"
        ),
    )
