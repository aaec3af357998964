"""The one interface between this package and file systems."""

from hudi_pyspark.storage.protocol import FileInfo, Storage
from hudi_pyspark.storage.table_storage import ArrowStorage, open_storage

__all__ = ["ArrowStorage", "FileInfo", "Storage", "open_storage"]
