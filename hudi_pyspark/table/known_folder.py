"""Listings of folders that a table is known to have."""

from hudi_pyspark.storage.protocol import FileInfo, Storage


def list_known_folder(storage: Storage, folder: str) -> list[FileInfo]:
    """List a folder that should have entries, a second time where a store lists none.

    A store, or a proxy before it, may answer without a list, which looks like an empty folder.
    """
    entries = storage.list_directory(folder)
    return entries if entries or storage.is_local else storage.list_directory(folder)
