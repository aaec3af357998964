"""Metadata-only bootstrap: base files whose data columns are in files outside of the table."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from hudi_pyspark import errors
from hudi_pyspark.format.data_files import check_readable
from hudi_pyspark.format.hfile import HFileError
from hudi_pyspark.format.hfile.reader import read_hfile
from hudi_pyspark.format.timeline import instant_body
from hudi_pyspark.storage.protocol import Storage, rises
from hudi_pyspark.table.config import METADATA_FOLDER, TableConfig
from hudi_pyspark.table.file_group import FileSlice

# The base files of this instant hold meta columns only. Files of a full-record bootstrap, which
# has the instant 00000000000002, are ordinary.
BOOTSTRAP_INSTANT = "00000000000001"
# The index by partition; a second one, by file id, has the same content.
INDEX_FILE = (
    f"{METADATA_FOLDER}/.aux/.bootstrap/.partitions/"
    f"00000000-0000-0000-0000-000000000000-0_1-0-1_{BOOTSTRAP_INSTANT}.hfile"
)


def is_skeleton(file_slice: FileSlice, config: TableConfig) -> bool:
    """Return whether the slice's base file holds meta columns only."""
    base = file_slice.base_file
    is_of_bootstrap = base is not None and base.instant_time == BOOTSTRAP_INSTANT
    return is_of_bootstrap and bool(config.bootstrap_base_path)


def check_formats(slices: Iterable[FileSlice], config: TableConfig) -> None:
    """Refuse base files of formats that cannot be read, and such sources of skeletons.

    Raises:
        UnsupportedTableError: as `check_readable`.
    """
    for file_slice in slices:
        base = file_slice.base_file
        if base is not None:
            check_readable(base.path)
            if is_skeleton(file_slice, config):
                check_readable(base.bootstrap_source)


@dataclass(frozen=True)
class BootstrapSources:
    """The files with the data columns of a bootstrapped table's skeleton files."""

    storage: Storage  # of the table
    config: TableConfig
    index: Mapping[tuple[str, str], str]  # (partition path, file id) to source file, as recorded
    base_path: str  # replaces the recorded hoodie.bootstrap.base.path
    is_given: bool  # whether the caller names the base path, so that it may be in any store

    def check_folder(self) -> None:
        """Check that the folder of source files has something in it.

        Raises:
            MissingFileError: it is missing or empty, with the option that names another one.
            PathOutsideTableError: it is in another store, and the caller does not name it.
        """
        if _is_folder(self.storage, self.base_path, is_given=self.is_given) is False:
            raise errors.MissingFileError.of_bootstrap(self.base_path)

    def attach(self, slices: Iterable[FileSlice]) -> list[FileSlice]:
        """Return the slices with the source file of each skeleton base file.

        Raises:
            CorruptTableError: the index does not name a file group, or names a file outside of the
                folder of the sources. PathOutsideTableError, a child of it, says that a file is in
                another store, and the caller does not name it.
        """
        attached = [
            replace(s, base_file=replace(s.base_file, bootstrap_source=self._source(s)))
            if s.base_file is not None and is_skeleton(s, self.config)
            else s
            for s in slices
        ]
        if not self.is_given:
            sources = [s.base_file.bootstrap_source for s in attached if s.base_file is not None]
            for folder in set(map(posixpath.dirname, filter(None, sources))):
                self.storage.at(folder)
        return attached

    def _source(self, file_slice: FileSlice) -> str:
        recorded = self.index.get((file_slice.partition_path, file_slice.file_id))
        if not recorded:
            raise errors.CorruptTableError(
                f"the bootstrap index {INDEX_FILE} does not name file group {file_slice.file_id} "
                f"of partition {file_slice.partition_path!r}"
            )
        if self.base_path == self.config.bootstrap_base_path and not self.is_given:
            return recorded
        return _moved(recorded, self.config.bootstrap_base_path, self.base_path)


def load_bootstrap_sources(
    storage: Storage, config: TableConfig, base_path: str = ""
) -> BootstrapSources:
    """Read the bootstrap index, and find its sources; without ``base_path`` by `_locate_sources`.

    Raises:
        MissingFileError: the index is gone.
        CorruptTableError: the index cannot be decoded.
        UnsupportedTableError: the table has no index, or one of another kind.
    """
    index = _load_index(storage, config)
    folder = base_path or _locate_sources(storage, config.bootstrap_base_path)
    return BootstrapSources(storage, config, index, folder, is_given=bool(base_path))


def _load_index(storage: Storage, config: TableConfig) -> dict[tuple[str, str], str]:
    _check_index_kind(config)
    path = storage.describe(INDEX_FILE)
    try:
        return _parse_index(storage.read_bytes(INDEX_FILE), path)
    except FileNotFoundError as error:
        raise errors.MissingFileError(
            f"{path} is not on the storage: without this index the base files of the table's "
            "bootstrap have no data columns. Restore the folder .hoodie/.aux from a copy"
        ) from error
    except HFileError as error:
        raise errors.CorruptTableError(f"bootstrap index {path} {error}") from error
    except errors.CorruptTimelineError as error:
        raise errors.CorruptTableError(f"bootstrap index {error.reason()}") from error


def _parse_index(data: bytes, path: str) -> dict[tuple[str, str], str]:
    """Map partition path and file id to source file; each partition has an Avro container."""
    hfile = read_hfile(data, path=path)
    index: dict[tuple[str, str], str] = {}
    spans = zip(hfile.value_starts.tolist(), hfile.value_ends.tolist(), strict=True)
    for start, end in spans:
        entry = instant_body.read_body(hfile.values_data[start:end], path=path)
        with instant_body.undecodable_as_corrupt(path):
            if "fileIdToBootstrapFile" not in entry:
                raise ValueError("fileIdToBootstrapFile is missing")
            files = instant_body.get_value(entry, "fileIdToBootstrapFile", dict)
            for file_id in files:
                source_file = instant_body.get_value(files, file_id, dict)
                source_path = instant_body.get_value(source_file, "path", dict)
                source = instant_body.get_required(source_path, "uri", str)
                index[instant_body.get_value(entry, "partitionPath", str), file_id] = source
    return index


def _locate_sources(storage: Storage, recorded: str) -> str:
    """Return the folder of a bootstrap's source files: the recorded one, or a sibling of the table.

    The sibling has the name of the recorded folder. It counts only if the recorded folder does
    not exist in the table's own store, so a table that was copied together with its source folder
    is read without any option. If neither exists, the error names the recorded one.
    """
    with suppress(errors.PathOutsideTableError):
        if _is_folder(storage, recorded):
            return recorded
    name = posixpath.basename(recorded.rstrip("/"))
    sibling = posixpath.join(posixpath.dirname(storage.describe("").rstrip("/")), name)
    return sibling if _is_folder(storage, sibling) else recorded


def _is_folder(storage: Storage, location: str, *, is_given: bool = False) -> bool | None:
    """Return whether there is a folder with something in it; None if the store does not tell."""
    try:
        return bool(storage.at(location, is_given=is_given).list_directory(""))
    except (errors.InvalidOptionError, OSError, ValueError):
        return None  # a file, or a store that is not reached from here: reading it says why


def _check_index_kind(config: TableConfig) -> None:
    for key, readable in (
        ("hoodie.bootstrap.index.enable", "true"),
        ("hoodie.bootstrap.index.type", "hfile"),
        ("hoodie.bootstrap.index.class", "hfilebootstrapindex"),
    ):
        value = config.properties.get(key, readable)
        if value.rpartition(".")[2].strip().lower() != readable:
            raise errors.UnsupportedTableError(
                f"{key} is {value}, so no index lists the files with the data columns of the "
                f"table's bootstrap (hoodie.bootstrap.base.path is {config.bootstrap_base_path}). "
                "Rewrite the table, e.g. by clustering it with Apache Hudi"
            )


def _moved(source: str, recorded_base: str, base: str) -> str:
    """Return the source file below `base`, which replaces the recorded folder."""
    folder = _without_store(recorded_base).rstrip("/")
    path = _without_store(source)
    if not path.startswith(f"{folder}/") or rises(path):
        raise errors.CorruptTableError(
            f"the bootstrap index names {source}, which is not below hoodie.bootstrap.base.path, "
            f"{recorded_base}; it cannot be looked for below {base}"
        )
    return base.rstrip("/") + path[len(folder) :]


def _without_store(location: str) -> str:
    """Return the location from its first folder on: writers leave out scheme, host or bucket."""
    return "/" + re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", location).lstrip("/")
