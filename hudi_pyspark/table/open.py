"""Base path to the view of the table there, or what is wrong with the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.errors import PathInsideTableError, PathNotFoundError, TableNotFoundError
from hudi_pyspark.table.config import PROPERTIES_FILE, load_table_config
from hudi_pyspark.table.listing import DirectoryListing
from hudi_pyspark.table.timeline import load_timeline
from hudi_pyspark.table.view import TableView

if TYPE_CHECKING:
    from hudi_pyspark.storage import Storage


def open_table(storage: Storage) -> TableView:
    """Read a table's properties and active timeline.

    Raises:
        TableNotFoundError: there is no table at the base path; see its children.
        HudiError: the table cannot be read.
    """
    try:
        config = load_table_config(storage)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_table(storage) from None
    timeline = load_timeline(storage, config)
    return TableView(storage, config, timeline, DirectoryListing(storage, config))


def _no_table(storage: Storage) -> TableNotFoundError:
    here = storage.describe("")
    try:
        is_empty = not storage.list_directory("")
    except NotADirectoryError:
        return TableNotFoundError(
            f"{here} is a file. Give the base path of a Hudi table, the folder that holds .hoodie"
        )
    if is_empty and any(sign in here for sign in "*?[{"):
        return PathNotFoundError(
            f"{here} does not exist, and patterns are not expanded. Give the base path of one Hudi "
            "table, the folder that holds .hoodie"
        )
    if is_empty:
        return PathNotFoundError(
            f"{here} does not exist or is empty. Give the base path of a Hudi table, the folder "
            "that holds .hoodie"
        )
    parent = "."
    for _ in range(16):
        parent = f"{parent}/.."
        try:
            storage.read_bytes(f"{parent}/{PROPERTIES_FILE}")
        except (OSError, ValueError):
            continue
        levels = parent.count("..")
        base_path = "/".join(here.rstrip("/").split("/")[:-levels])
        return PathInsideTableError(
            f"{here} lies inside the Hudi table {base_path}. Load {base_path} and filter on the "
            "partition columns instead"
        )
    return TableNotFoundError(
        f"{here} is not a Hudi table: it has no {PROPERTIES_FILE}. Give the base path of the "
        "table, the folder that holds .hoodie"
    )
