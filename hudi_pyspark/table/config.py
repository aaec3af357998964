"""hoodie.properties as a typed value; tables that cannot be read are refused here."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError, UnsupportedVersionError
from hudi_pyspark.format.column_names import spelled_path
from hudi_pyspark.format.properties import parse_properties
from hudi_pyspark.storage.protocol import Storage

METADATA_FOLDER = ".hoodie"
PROPERTIES_FILE = f"{METADATA_FOLDER}/hoodie.properties"
SUPPORTED_VERSIONS = range(11)
_VERSION = "hoodie.table.version"
_LAYOUT = "hoodie.timeline.layout.version"
_ARCHIVE_FOLDER = "archived"
_NEWER_THAN_VERSION_0 = ("hoodie.table.checksum", "hoodie.timeline.path")
_BASE_FILE_FORMATS = ("PARQUET", "ORC", "HFILE", "LANCE")
_STORAGE_LAYOUTS = ("DEFAULT", "LSM_TREE")
_CDC_LOGGING_MODES = ("DATA_BEFORE_AFTER", "DATA_BEFORE", "OP_KEY_ONLY")
_MERGE_PROPERTY_PREFIX = "hoodie.record.merge.property."
# Table versions whose timeline lives in .hoodie/timeline and carries completion times.
_FIRST_LAYOUT_2_VERSION = 8
# By class, each of which has a twin with "Avro" in its name.
_KEY_GENERATORS = {
    "SimpleKeyGenerator": "SIMPLE",
    "ComplexKeyGenerator": "COMPLEX",
    "TimestampBasedKeyGenerator": "TIMESTAMP",
    "CustomKeyGenerator": "CUSTOM",
    "NonpartitionedKeyGenerator": "NON_PARTITION",
    "GlobalDeleteKeyGenerator": "GLOBAL_DELETE",
}


class TableType(enum.Enum):
    """``hoodie.table.type``."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The properties of a table that decide how it is read."""

    name: str
    database: str  # "" when the writer named none
    version: int
    table_type: TableType
    base_file_format: str  # upper case, e.g. "PARQUET"
    base_file_formats_mixed: bool
    record_key_fields: tuple[str, ...]  # () when keys live only in _hoodie_record_key
    ordering_fields: tuple[str, ...]  # dotted names of nested fields included
    partition_fields: tuple[str, ...]  # () for an unpartitioned table; without :TYPE suffixes
    timestamp_partition_fields: tuple[str, ...]  # those whose folder may be a formatted time
    key_generator: str  # SIMPLE, COMPLEX, TIMESTAMP, CUSTOM, …; "" when unknown
    hive_style_partitioning: bool
    url_encode_partitions: bool
    slash_separated_dates: bool
    drop_partition_columns: bool
    populate_meta_fields: bool
    payload_class: str  # "" when the table names none
    merge_mode: str  # "" when the table names none (table versions up to 7)
    merge_strategy_id: str  # "" when the table names none
    partial_update_mode: str  # "" when the table has none
    merge_properties: Mapping[str, str]  # hoodie.record.merge.property.*, prefix removed
    cdc_enabled: bool
    cdc_logging_mode: str
    timeline_timezone: str  # LOCAL (the writer's, not recorded) or UTC
    timeline_folder: str  # relative to the base path
    archive_folders: tuple[str, ...]  # relative to the base path; any of them may be missing
    metadata_partitions: tuple[str, ...]  # partitions of the metadata table that may be read
    create_schema: str  # Avro JSON, "" when absent
    bootstrap_base_path: str  # "" for a table that was not bootstrapped
    is_lsm_tree: bool  # files are sorted by record key, and merged all alike
    properties: Mapping[str, str]  # all of them, as in the file

    @property
    def has_completion_times(self) -> bool:
        """Whether timeline files are named with completion times: from table version 8 on.

        Since then a log file holds the blocks of one commit, and may have some columns of a row.
        """
        return has_completion_times(self.version)

    @property
    def layout(self) -> int:
        """Timeline layout: 2 from table version 8 on, else 1."""
        return 2 if self.has_completion_times else 1

    @property
    def was_upgraded(self) -> bool:
        """Whether the table may be of an older version than 8 by origin, as Apache Hudi records."""
        text = self.properties.get("hoodie.table.initial.version", "")
        return not (text.isascii() and text.isdigit() and has_completion_times(int(text)))

    @property
    def is_merge_on_read(self) -> bool:
        return self.table_type is TableType.MERGE_ON_READ

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> TableConfig:
        """Parse the properties; UnsupportedTableError names a value that cannot be read."""
        version = _version(properties)
        folder_2 = f"{METADATA_FOLDER}/{properties.get('hoodie.timeline.path') or 'timeline'}"
        history = properties.get("hoodie.timeline.history.path") or "history"
        # A downgrade moves the archive to the default folder, whatever the property says, and the
        # writers that follow archive into the folder of the property.
        archives = {properties.get("hoodie.archivelog.folder", _ARCHIVE_FOLDER), _ARCHIVE_FOLDER}
        layout_2 = has_completion_times(version)
        names, timestamp_names = _partition_fields(properties)
        flag, first = partial(_flag, properties), partial(_first, properties)
        one_of = partial(_one_of, properties)
        config = cls(
            name=properties.get("hoodie.table.name", ""),
            database=properties.get("hoodie.database.name", ""),
            version=version,
            table_type=TableType(one_of("hoodie.table.type", [kind.value for kind in TableType])),
            # Files with another extension are not seen, so a wrong one would lose rows.
            base_file_format=one_of(
                "hoodie.table.base.file.format"
                if properties.get("hoodie.table.base.file.format")
                else "hoodie.table.ro.file.format",
                _BASE_FILE_FORMATS,
            ),
            base_file_formats_mixed=flag("hoodie.table.multiple.base.file.formats.enable"),
            record_key_fields=_names(properties.get("hoodie.table.recordkey.fields")),
            ordering_fields=_names(
                first("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
            ),
            partition_fields=names,
            timestamp_partition_fields=timestamp_names,
            key_generator=_key_generator(properties),
            hive_style_partitioning=flag("hoodie.datasource.write.hive_style_partitioning"),
            url_encode_partitions=flag("hoodie.datasource.write.partitionpath.urlencode"),
            slash_separated_dates=flag("hoodie.datasource.write.slash.separated.date.partitioning"),
            drop_partition_columns=flag("hoodie.datasource.write.drop.partition.columns"),
            populate_meta_fields=flag("hoodie.populate.meta.fields", default=True),
            payload_class=properties.get("hoodie.compaction.payload.class", ""),
            merge_mode=properties.get("hoodie.record.merge.mode", "").upper(),
            merge_strategy_id=first(
                "hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy"
            ),
            partial_update_mode=properties.get("hoodie.table.partial.update.mode", "").upper(),
            merge_properties={
                key[len(_MERGE_PROPERTY_PREFIX) :]: value
                for key, value in properties.items()
                if key.startswith(_MERGE_PROPERTY_PREFIX)
            },
            cdc_enabled=flag("hoodie.table.cdc.enabled"),
            cdc_logging_mode=one_of(
                "hoodie.table.cdc.supplemental.logging.mode", _CDC_LOGGING_MODES
            ),
            timeline_timezone=one_of("hoodie.table.timeline.timezone", ("LOCAL", "UTC")),
            timeline_folder=folder_2 if layout_2 else METADATA_FOLDER,
            archive_folders=(
                (f"{folder_2}/{history}",)
                if layout_2
                else tuple(sorted(f"{METADATA_FOLDER}/{name}".rstrip("/") for name in archives))
            ),
            metadata_partitions=_names(properties.get("hoodie.table.metadata.partitions")),
            create_schema=properties.get("hoodie.table.create.schema", ""),
            bootstrap_base_path=properties.get("hoodie.bootstrap.base.path", ""),
            is_lsm_tree=one_of("hoodie.table.storage.layout", _STORAGE_LAYOUTS) == "LSM_TREE",
            properties=dict(properties),
        )
        table_format = properties.get("hoodie.table.format", "native")
        if table_format.lower() != "native":
            raise UnsupportedTableError(
                f"hoodie.table.format is {table_format!r}; only native tables are read"
            )
        return config


def spelled_config(config: TableConfig, schema: pa.Schema) -> TableConfig:
    """Return a table's properties with ordering and partition fields as its schema spells them.

    Key fields keep their spelling, since record keys may have it: ``ID:1,region:emea``. The same
    object is returned where nothing differs.
    """
    names = ("ordering_fields", "partition_fields", "timestamp_partition_fields")
    spelled: dict[str, Any] = {
        name: tuple(spelled_path(f, schema) for f in getattr(config, name)) for name in names
    }
    is_same = all(getattr(config, name) == fields for name, fields in spelled.items())
    return config if is_same else replace(config, **spelled)


def has_completion_times(version: int) -> bool:
    """Return whether the timeline of a table version has them: that of layout 2."""
    return version >= _FIRST_LAYOUT_2_VERSION


def load_table_config(storage: Storage) -> TableConfig:
    """Read ``hoodie.properties``, or its backup while a writer replaces the file.

    Raises:
        FileNotFoundError: neither exists, so that there is no table.
        CorruptTableError: neither can be read.
        UnsupportedTableError: a property has a value that cannot be read; it names both.
    """
    problem = ""
    for path in (PROPERTIES_FILE, f"{PROPERTIES_FILE}.backup"):
        try:
            properties = parse_properties(storage.read_bytes(path))
        except FileNotFoundError:
            continue
        except ValueError as error:
            problem = str(error)
            continue
        if "hoodie.table.name" in properties or "hoodie.table.version" in properties:
            return TableConfig.parse(properties)
        problem = "it names neither hoodie.table.name nor hoodie.table.version"
    if problem:
        raise CorruptTableError(
            f"{storage.describe(PROPERTIES_FILE)} (and its .backup) cannot be read: {problem}. "
            "Restore the file from a copy"
        )
    raise FileNotFoundError(PROPERTIES_FILE)


def _version(properties: Mapping[str, str]) -> int:
    # Hudi before 0.6 wrote no version: 0, of the same format as 1.
    text = properties.get(_VERSION, "0")
    newer = [key for key in _NEWER_THAN_VERSION_0 if key in properties]
    if _VERSION not in properties and newer:
        raise UnsupportedVersionError(
            f"{_VERSION} is missing, but the table has {newer[0]}, which releases of Apache "
            f"Hudi write that record their version. Restore {PROPERTIES_FILE} from a copy"
        )
    if not (text.isascii() and text.isdigit()):
        raise UnsupportedVersionError(
            f"{_VERSION} is {text!r}, which is not a number. Restore {PROPERTIES_FILE} from a copy"
        )
    if int(text) not in SUPPORTED_VERSIONS:
        raise UnsupportedVersionError(
            f"{_VERSION} is {text!r}; this release reads versions {SUPPORTED_VERSIONS.start} to "
            f"{SUPPORTED_VERSIONS.stop - 1}. Tables of a later version need a later release of "
            "this package"
        )
    # Either number says where the timeline is. Of two that disagree, one loses all commits.
    layouts = ("2",) if has_completion_times(int(text)) else ("1", "0")
    layout = properties.get(_LAYOUT) or layouts[0]
    if layout not in layouts:
        raise UnsupportedVersionError(
            f"{_LAYOUT} is {layout!r}, but tables of {_VERSION} {text} have {layouts[0]}: one of "
            f"the two was edited. Restore {PROPERTIES_FILE} from a copy"
        )
    return int(text)


def _one_of(properties: Mapping[str, str], key: str, known: Sequence[str]) -> str:
    """Return a value in upper case; by default the first of those that are known."""
    text = properties.get(key) or known[0]
    if text.upper() not in known:
        raise UnsupportedTableError(f"{key} is {text!r}; known: {', '.join(known)}")
    return text.upper()


def _key_generator(properties: Mapping[str, str]) -> str:
    named = properties.get("hoodie.table.keygenerator.type", "")
    if named:
        return named.upper().removesuffix("_AVRO")
    simple_name = properties.get("hoodie.table.keygenerator.class", "").rpartition(".")[2]
    return _KEY_GENERATORS.get(simple_name.replace("Avro", "", 1), "")


def _partition_fields(properties: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all partition columns, and those whose folder is, or may be, a formatted time.

    The custom key generator writes ``column:simple`` or ``column:timestamp``; before release 1.0 it
    recorded the columns alone.
    """
    entries = _names(properties.get("hoodie.table.partition.fields"))
    names = tuple(entry.partition(":")[0] for entry in entries)
    kinds = tuple(entry.partition(":")[2].upper() for entry in entries)
    generator = _key_generator(properties)
    if generator == "TIMESTAMP":
        return names, names
    may_be_time = {"TIMESTAMP", ""} if generator == "CUSTOM" else {"TIMESTAMP"}
    return names, tuple(n for n, kind in zip(names, kinds, strict=True) if kind in may_be_time)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _flag(properties: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    text = properties.get(key, str(default)).strip().lower()
    # Apache Hudi takes anything but "true" for "false"; it writes only these two.
    if text not in ("true", "false", ""):
        raise UnsupportedTableError(f"{key} is {properties[key]!r}; known: true, false")
    return text == "true"


def _first(properties: Mapping[str, str], *keys: str) -> str:
    return next((properties[key] for key in keys if properties.get(key)), "")
