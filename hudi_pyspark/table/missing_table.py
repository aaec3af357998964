"""Explain why there is no table at a path: what is there, or near it, instead."""

from contextlib import suppress

from hudi_pyspark.errors import (
    CorruptTableError,
    HudiError,
    PathInsideTableError,
    PathNotFoundError,
    TableNotFoundError,
)
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.storage.protocol import FileInfo, Storage
from hudi_pyspark.table.config import METADATA_FOLDER, PROPERTIES_FILE
from hudi_pyspark.wording import did_you_mean

_ADVICE = "Give the base path of one Hudi table, the folder that holds .hoodie"
_MOST_SEARCHED = 20  # folders; each costs a request
_MOST_NAMED = 3
_READ_BY_SPARK = (BaseFileFormat.PARQUET.suffix, BaseFileFormat.ORC.suffix)
_INSTANTS = (".commit", ".deltacommit", ".replacecommit")


def missing_table_error(storage: Storage) -> HudiError:
    """Return the error for a path without ``.hoodie/hoodie.properties``.

    Args:
        storage: of the path.

    Returns:
        A CorruptTableError if a table has lost its properties; else a TableNotFoundError.

    Raises:
        StorageError: the storage fails or refuses.
    """
    here = storage.describe("")
    try:
        entries = storage.list_directory("")
    except NotADirectoryError:
        return TableNotFoundError(f"{here} is a file", advice=_ADVICE)
    if not entries:
        is_pattern = any(sign in here for sign in "*?[{")
        problem = ", and patterns are not expanded" if is_pattern else " or is empty"
        return PathNotFoundError(
            f"{here} does not exist{problem}", advice=f"{_ADVICE}{_like(storage)}"
        )
    for levels in range(1, 17):
        try:
            storage.read_bytes(f".{'/..' * levels}/{PROPERTIES_FILE}")
        except (HudiError, OSError, ValueError):
            continue
        base_path = "/".join(here.rstrip("/").split("/")[:-levels])
        return PathInsideTableError(
            f"{here} lies inside the Hudi table {base_path}",
            advice=f"Load {base_path} and filter on the partition columns instead",
        )
    with suppress(HudiError, OSError):  # the storage may permit some requests only
        folders = METADATA_FOLDER, f"{METADATA_FOLDER}/timeline"  # of any timeline layout
        if any(name.endswith(_INSTANTS) for f in folders for name in storage.list_file_names(f)):
            return CorruptTableError(
                "neither the file nor its .backup is there, but a timeline is: the table has lost "
                "its properties",
                storage.describe(PROPERTIES_FILE),
                "Restore the file from a copy. Without a copy, write it anew with what its writer "
                "had set: name, type, version, key and ordering fields",
            )
        if found := _found_instead(storage, entries):
            return TableNotFoundError(f"{here} {found}")
    return TableNotFoundError(
        f"{here} is not a Hudi table: it has no {PROPERTIES_FILE}", advice=_ADVICE
    )


def _like(storage: Storage) -> str:
    """Return a hint at a folder beside the path whose name is like it; "" if there is none.

    An empty folder gets no hint.
    """
    parent, _, name = storage.describe("").rpartition("/")
    with suppress(HudiError, OSError):
        if parent and not parent.endswith("/"):
            beside = storage.at(parent).list_directory("")
            folders = [entry.name for entry in beside if entry.is_directory]
            return did_you_mean(name, folders) if name not in folders else ""
    return ""


def _found_instead(storage: Storage, entries: list[FileInfo]) -> str:
    """Say which tables the folder has, or of which other format it is; "" if of none known."""
    folders = sorted(entry.name for entry in entries if entry.is_directory)
    if "_delta_log" in folders:
        return "is a Delta Lake table. Read it with Spark's format('delta') or with deltalake"
    metadata = storage.list_directory("metadata") if "metadata" in folders else ()
    if any(entry.name.endswith(".metadata.json") for entry in metadata):
        return "is an Apache Iceberg table. Read it with Spark's Iceberg catalog or with pyiceberg"
    searched = [name for name in folders if name[0] not in "._"][:_MOST_SEARCHED]
    tables = [name for name in searched if storage.list_directory(f"{name}/{METADATA_FOLDER}")]
    if tables:
        names = ", ".join(tables[:_MOST_NAMED]) + (", …" if len(tables) > _MOST_NAMED else "")
        return f"is a folder with Hudi tables below it: {names}. Give the path of one of them"
    if any(entry.name.endswith(_READ_BY_SPARK) for entry in entries):
        return "has data files but no Hudi timeline. Read them with spark.read.parquet or .orc"
    return ""
