"""hoodie.properties as a typed value; tables that cannot be read are refused here."""

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError, UnsupportedVersionError
from hudi_pyspark.format.data_files import BaseFileFormat
from hudi_pyspark.format.properties import parse_properties, table_checksum
from hudi_pyspark.storage.protocol import Storage

METADATA_FOLDER = ".hoodie"
PROPERTIES_FILE = f"{METADATA_FOLDER}/hoodie.properties"
BACKUP_FILE = f"{PROPERTIES_FILE}.backup"
CHECKSUM = "hoodie.table.checksum"
# The first release of Apache Hudi that reads each version, from 0 on: HoodieTableVersion.
FIRST_RELEASES = ("0.3", "0.6", "0.9", "0.10", "0.11", "0.12", "0.14", "0.16", "1.0", "1.1", "1.3")
SUPPORTED_VERSIONS = range(len(FIRST_RELEASES))
TABLE_TYPE = "hoodie.table.type"
_NAME = "hoodie.table.name"
_VERSION = "hoodie.table.version"
_LAYOUT = "hoodie.timeline.layout.version"
_ARCHIVE_FOLDER = "archived"
_POPULATE = "hoodie.populate.meta.fields"
_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_SLASHES = "hoodie.datasource.write.slash.separated.date.partitioning"
# Values of hoodie.meta.fields.mode (Apache Hudi 1.3) with which rows have their commit times.
_MODES_WITH_COMMIT_TIMES = ("ALL", "COMMIT_TIME_ONLY", "COMMIT_TIME_AND_FILE_NAME")
# Properties that a writer of Apache Hudi was given if it orders by event time without a field.
_IMPLY_EVENT_TIME = (
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class",
    "hoodie.record.merge.strategy.id",
)
_NEWER_THAN_VERSION_0 = (CHECKSUM, "hoodie.timeline.path")
_IS_VERSION = re.compile(r"[0-9]{1,9}").fullmatch
_IS_NUMBER = re.compile(r"[+-]?[0-9]{1,19}").fullmatch  # a long of Java
_STORAGE_LAYOUTS = ("DEFAULT", "LSM_TREE")
_CDC_LOGGING_MODES = ("DATA_BEFORE_AFTER", "DATA_BEFORE", "OP_KEY_ONLY")
# The first table version of timeline layout 2: it lives in .hoodie/timeline, and names the files of
# completed instants with their completion times.
FIRST_WITH_COMPLETION_TIMES = 8
# Key generators that make the key from the text of its fields, by class, each of which has a twin
# with "Avro" in its name. A user's own may do anything.
KEY_GENERATORS = {
    "SimpleKeyGenerator": "SIMPLE",
    "ComplexKeyGenerator": "COMPLEX",
    "TimestampBasedKeyGenerator": "TIMESTAMP",
    "CustomKeyGenerator": "CUSTOM",
    "NonpartitionedKeyGenerator": "NON_PARTITION",
    "GlobalDeleteKeyGenerator": "GLOBAL_DELETE",
}


_Reader: TypeAlias = Callable[[Mapping[str, str]], Any]


class TableType(enum.Enum):
    """``hoodie.table.type``."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


def _read(reader: _Reader) -> Any:  # noqa: ANN401  (a field of any type)
    """Define a field by the function that reads it from the table's properties."""
    return field(metadata={"read": reader})


def _upper(key: str) -> _Reader:
    return lambda properties: properties.get(key, "").upper()


def _first(*keys: str) -> _Reader:
    return lambda properties: next((properties[key] for key in keys if properties.get(key)), "")


def _names(*keys: str) -> _Reader:
    """Return the reader of names between commas, of the first property that is set."""
    first = _first(*keys)
    return lambda properties: tuple(
        name.strip() for name in first(properties).split(",") if name.strip()
    )


def _flag(key: str, *, default: bool = False) -> _Reader:
    def read(properties: Mapping[str, str]) -> bool:
        text = properties.get(key, str(default)).strip().lower()
        # Apache Hudi takes anything but "true" for "false"; it writes only these two.
        if text not in ("true", "false", ""):
            raise UnsupportedTableError(f"{key} is {properties[key]!r}; known: true, false")
        return text == "true"

    return read


def _one_of(key: str, words: Sequence[str], *, instead: str = "") -> _Reader:
    """Return the reader of a word from a closed list, in upper case; the first is the default.

    If ``key`` is not set, the property ``instead`` decides, if there is one.
    """

    def read(properties: Mapping[str, str]) -> str:
        set_key = key if properties.get(key) or not instead else instead
        text = properties.get(set_key) or words[0]
        if text.upper() not in words:
            raise UnsupportedTableError(f"{set_key} is {text!r}; known: {', '.join(words)}")
        return text.upper()

    return read


def _version(properties: Mapping[str, str]) -> int:
    # Hudi before 0.6 wrote no version: 0, of the same format as 1.
    text = properties.get(_VERSION, "0")
    if not _IS_VERSION(text):
        raise UnsupportedVersionError(
            f"{_VERSION} is {text[:40]!r}, which is not a number",
            advice=f"Restore {PROPERTIES_FILE} from a copy",
        )
    if int(text) not in SUPPORTED_VERSIONS:
        raise UnsupportedVersionError(
            f"{_VERSION} is {text!r}; this release reads versions {SUPPORTED_VERSIONS.start} to "
            f"{SUPPORTED_VERSIONS.stop - 1}",
            advice="Tables of a later version need a later release of this package",
        )
    # Either number says where the timeline is. If they disagree, one of them loses all commits.
    layouts = ("2",) if int(text) >= FIRST_WITH_COMPLETION_TIMES else ("1", "0")
    layout = properties.get(_LAYOUT) or layouts[0]
    if layout not in layouts:
        raise UnsupportedVersionError(
            f"{_LAYOUT} is {layout!r}, but tables of {_VERSION} {text} have {layouts[0]}: one of "
            "the two was edited",
            advice=f"Restore {PROPERTIES_FILE} from a copy",
        )
    return int(text)


def _key_generator(properties: Mapping[str, str]) -> str:
    type_name = properties.get("hoodie.table.keygenerator.type", "")
    if type_name:
        return type_name.upper().removesuffix("_AVRO")
    simple_name = properties.get("hoodie.table.keygenerator.class", "").rpartition(".")[2]
    return KEY_GENERATORS.get(simple_name.replace("Avro", "", 1), "")


def _is_foreign_class(properties: Mapping[str, str]) -> bool:
    name = properties.get("hoodie.table.keygenerator.class", "")
    return bool(name) and not name.startswith("org.apache.")


def _partition_fields(properties: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all partition columns, and the ones whose folder is, or may be, a formatted time.

    The custom key generator writes ``column:simple`` or ``column:timestamp``; before release 1.0 it
    recorded the columns alone. A user's own key generator may make any text of a value.
    """
    entries = _partition_entries(properties)
    names = tuple(entry.partition(":")[0] for entry in entries)
    kinds = tuple(entry.partition(":")[2].upper() for entry in entries)
    generator = _key_generator(properties)
    if generator in ("TIMESTAMP", "USER_PROVIDED") or _is_foreign_class(properties):
        return names, names
    may_be_time = {"TIMESTAMP", ""} if generator == "CUSTOM" else {"TIMESTAMP"}
    return names, tuple(n for n, kind in zip(names, kinds, strict=True) if kind in may_be_time)


def _denies_hive_style(properties: Mapping[str, str]) -> bool:
    """Return whether writers put no names of columns into folders.

    A bootstrapped table has the folders of its source, which mostly have names.
    """
    is_denied = properties.get(_HIVE_STYLE, "").strip().lower() == "false"
    return is_denied and not _bootstrap_base_path(properties)


def _may_have_slash_dates(properties: Mapping[str, str]) -> bool:
    """Return whether the value of the folder 2024/01/31 may be 2024-01-31.

    With the DataFrame writer of 1.2.0 only the extractor of partition values tells.
    """
    extractor = properties.get("hoodie.table.partition_extractor_class", "").rpartition(".")[2]
    return _flag(_SLASHES)(properties) or extractor == "SlashEncodedDayPartitionValueExtractor"


_bootstrap_base_path = _first("hoodie.bootstrap.base.path")
_database = _first("hoodie.database.name")
_partition_entries = _names("hoodie.table.partition.fields")
_ordering_fields = _names("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
_table_type = _one_of(TABLE_TYPE, [kind.value for kind in TableType])


def _merge_properties(properties: Mapping[str, str]) -> dict[str, str]:
    prefix = "hoodie.record.merge.property."
    return {key[len(prefix) :]: properties[key] for key in properties if key.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The properties of a table that decide how it is read."""

    name: str = _read(_first(_NAME))
    database: str = _read(_database)  # "" if the writer named none
    version: int = _read(_version)
    table_type: TableType = _read(lambda properties: TableType(_table_type(properties)))
    # Upper case. Files with another extension are not seen, so a wrong one would lose rows.
    base_file_format: str = _read(
        _one_of(
            "hoodie.table.base.file.format",
            [base_format.value for base_format in BaseFileFormat],
            instead="hoodie.table.ro.file.format",
        )
    )
    base_file_formats_mixed: bool = _read(_flag("hoodie.table.multiple.base.file.formats.enable"))
    # () if keys are only in _hoodie_record_key
    record_key_fields: tuple[str, ...] = _read(_names("hoodie.table.recordkey.fields"))
    # dotted names of nested fields included
    ordering_fields: tuple[str, ...] = _read(_ordering_fields)
    # () for an unpartitioned table; without :TYPE suffixes
    partition_fields: tuple[str, ...] = _read(lambda properties: _partition_fields(properties)[0])
    # partition columns whose folder may be a formatted time, or what a user's own generator makes
    timestamp_partition_fields: tuple[str, ...] = _read(
        lambda properties: _partition_fields(properties)[1]
    )
    key_generator: str = _read(_key_generator)  # SIMPLE, COMPLEX, TIMESTAMP …; "" if unknown
    url_encode_partitions: bool = _read(_flag("hoodie.datasource.write.partitionpath.urlencode"))
    # whether folders are said to have no names of columns; some have them all the same
    denies_hive_style: bool = _read(_denies_hive_style)
    slash_separated_dates: bool = _read(_flag(_SLASHES))
    may_have_slash_dates: bool = _read(_may_have_slash_dates)
    drop_partition_columns: bool = _read(_flag("hoodie.datasource.write.drop.partition.columns"))
    populate_meta_fields: bool = _read(_flag(_POPULATE, default=True))
    payload_class: str = _read(_first("hoodie.compaction.payload.class"))  # "" if none is named
    # "" if none is named: table versions up to 7
    merge_mode: str = _read(_upper("hoodie.record.merge.mode"))
    merge_strategy_id: str = _read(  # "" if none is named
        _first("hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy")
    )
    partial_update_mode: str = _read(_upper("hoodie.table.partial.update.mode"))  # "" for none
    # hoodie.record.merge.property.*, prefix removed
    merge_properties: Mapping[str, str] = _read(_merge_properties)
    cdc_enabled: bool = _read(_flag("hoodie.table.cdc.enabled"))
    cdc_logging_mode: str = _read(
        _one_of("hoodie.table.cdc.supplemental.logging.mode", _CDC_LOGGING_MODES)
    )
    # LOCAL (the writer's, not recorded) or UTC
    timeline_timezone: str = _read(_one_of("hoodie.table.timeline.timezone", ("LOCAL", "UTC")))
    # partitions of the metadata table that may be read
    metadata_partitions: tuple[str, ...] = _read(_names("hoodie.table.metadata.partitions"))
    create_schema: str = _read(_first("hoodie.table.create.schema"))  # Avro JSON, "" if absent
    # "" for a table that was not bootstrapped
    bootstrap_base_path: str = _read(_bootstrap_base_path)
    # in an LSM_TREE files are sorted by record key, and base files merge as log files do
    storage_layout: str = _read(_one_of("hoodie.table.storage.layout", _STORAGE_LAYOUTS))
    properties: Mapping[str, str] = _read(dict)  # all of them, as in the file

    @property
    def has_completion_times(self) -> bool:
        """Whether timeline files are named with completion times: from table version 8 on.

        Since then a log file holds the blocks of one commit, and may have some columns of a row.
        """
        return self.version >= FIRST_WITH_COMPLETION_TIMES

    @property
    def has_partition_fields(self) -> bool:
        """Whether the properties name the partition columns: from table version 2 on."""
        return self.version >= 2

    @property
    def has_checksum(self) -> bool:
        """Whether Apache Hudi records a checksum of the properties: from table version 4 on."""
        return self.version >= 4

    @property
    def has_old_null_folders(self) -> bool:
        """Whether folders may have an older name for null: up to table version 4."""
        return self.version <= 4

    @property
    def has_merge_mode(self) -> bool:
        """Whether the merge mode of the properties counts: from table version 8 on."""
        return self.version >= 8

    @property
    def has_payload_rules(self) -> bool:
        """Whether the properties have the rules that a payload class implies: from version 9 on.

        These are its delete marker and its partial update mode.
        """
        return self.version >= 9

    @property
    def timeline_folder(self) -> str:
        """The folder of the active timeline, relative to the base path."""
        if not self.has_completion_times:
            return METADATA_FOLDER
        return f"{METADATA_FOLDER}/{self.properties.get('hoodie.timeline.path') or 'timeline'}"

    @property
    def archive_folders(self) -> tuple[str, ...]:
        """The folders of archived instants, relative to the base path; some may be missing."""
        if self.has_completion_times:
            history = self.properties.get("hoodie.timeline.history.path") or "history"
            return (f"{self.timeline_folder}/{history}",)
        # A downgrade moves the archive to the default folder, whatever the property says, and the
        # writers that follow archive into the folder of the property. Up to 0.9 Apache Hudi
        # archives into the metadata folder itself if the property has the release's default value,
        # which is "" up to 0.8: ``HoodieTableMetaClient.getArchivePath``. Later releases leave
        # those files there.
        named = self.properties.get("hoodie.archivelog.folder", _ARCHIVE_FOLDER)
        folders = {f"{METADATA_FOLDER}/{name}".rstrip("/") for name in (named, _ARCHIVE_FOLDER, "")}
        return tuple(sorted(folders))

    @property
    def meta_fields_mode(self) -> str:
        """Which meta columns have values: ALL, NONE, COMMIT_TIME_ONLY …, or a later release's word.

        The property of this name counts only if not all of them have.
        """
        if self.populate_meta_fields:
            return "ALL"
        return self.properties.get("hoodie.meta.fields.mode", "").strip() or "NONE"

    @property
    def has_commit_times(self) -> bool:
        """Whether rows have the time of their commit, as far as the properties say."""
        return self.meta_fields_mode in _MODES_WITH_COMMIT_TIMES

    @property
    def layout(self) -> int:
        """Timeline layout: 2 from table version 8 on, else 1."""
        return 2 if self.has_completion_times else 1

    @property
    def was_upgraded(self) -> bool:
        """Whether the table may have begun before version 8, as far as Apache Hudi records it."""
        text = self.properties.get("hoodie.table.initial.version", "")
        return not (_IS_VERSION(text) and int(text) >= FIRST_WITH_COMPLETION_TIMES)

    @property
    def is_merge_on_read(self) -> bool:
        """Whether the table is MERGE_ON_READ; any other table is COPY_ON_WRITE."""
        return self.table_type is TableType.MERGE_ON_READ

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> "TableConfig":
        """Parse the properties, each field as its definition says.

        Raises:
            UnsupportedTableError: a property has a value that cannot be read; it names both.
            UnsupportedVersionError: the table version is not known, or contradicts the layout.
        """
        config = cls(**{f.name: f.metadata["read"](properties) for f in fields(cls)})
        table_format = properties.get("hoodie.table.format", "native")
        if table_format.lower() != "native":
            raise UnsupportedTableError(
                f"hoodie.table.format is {table_format!r}; only native tables are read"
            )
        return config


@dataclass(frozen=True, slots=True)
class StoredProperties:
    """The properties of a table, and from which of the two files they are."""

    values: Mapping[str, str]
    path: str  # relative to the base path: `PROPERTIES_FILE` or `BACKUP_FILE`
    problem: str = ""  # why the backup is read instead of the file; "" if it is not


def _parse_whole(content: bytes) -> dict[str, str]:
    """Parse a file of properties, if it is as a writer of Apache Hudi left it.

    The checksum covers the name of the table, which may stand anywhere in the file. So it proves
    that the file is not cut before both, and no more: `_unless_cut` compares what it can.

    Raises:
        ValueError: it is not one, lacks the name or the version of the table, or contradicts its
            checksum.
    """
    properties = parse_properties(content)
    if _NAME not in properties and _VERSION not in properties:
        raise ValueError(f"it names neither {_NAME} nor {_VERSION}")
    if not properties.get(_NAME):
        raise ValueError(f"{_NAME} is missing, which every table has: the file is cut, or another")
    newer = [key for key in _NEWER_THAN_VERSION_0 if key in properties]
    if _VERSION not in properties and newer:
        raise ValueError(
            f"{_VERSION} is missing, but the table has {newer[0]}, which releases of Apache Hudi "
            "write that record their version: the file is cut"
        )
    recorded = properties.get(CHECKSUM)
    if recorded is None:  # Apache Hudi before 0.11 wrote none, and later releases ask for none
        return properties
    expected = table_checksum(_database(properties), properties[_NAME])
    if not _IS_NUMBER(recorded) or int(recorded) != expected:
        name = f"database {_database(properties)!r} and table {properties[_NAME]!r}"
        raise ValueError(
            f"{CHECKSUM} is {recorded[:40]!r}, but {name} give {expected}: the file is cut, or the "
            "name was edited"
        )
    return properties


def load_properties(storage: Storage) -> StoredProperties:
    """Read ``hoodie.properties``, or its backup while a writer replaces the file.

    A writer copies the file, deletes it, writes it anew and then deletes the copy. So a file that
    is missing, cut or contradicts its checksum has a backup, which Apache Hudi reads instead. If
    the backup is gone as well, the writer has just finished.

    Raises:
        FileNotFoundError: neither exists, so that there is no table.
        CorruptTableError: neither can be believed.
    """
    problems: dict[str, str] = {}
    for path in (PROPERTIES_FILE, BACKUP_FILE, PROPERTIES_FILE):
        try:
            content = storage.read_bytes(path)
            values = _parse_whole(content)
        except FileNotFoundError:
            if path == PROPERTIES_FILE:
                problems[path] = "is missing"
            continue
        except ValueError as error:
            problems[path] = f"cannot be read: {error}"
            continue
        if path == BACKUP_FILE:
            return StoredProperties(values, path, problems[PROPERTIES_FILE])
        return _unless_cut(storage, content, values)
    if problems == {PROPERTIES_FILE: "is missing"}:
        raise FileNotFoundError(PROPERTIES_FILE)
    has_backup = BACKUP_FILE in problems
    backup = f"Its .backup {problems[BACKUP_FILE]}" if has_backup else "It has no .backup"
    found = f"{problems[PROPERTIES_FILE]}. {backup}"
    place = storage.describe(PROPERTIES_FILE)
    raise CorruptTableError(found, place, "Restore the file from a copy")


def _unless_cut(storage: Storage, content: bytes, values: Mapping[str, str]) -> StoredProperties:
    """Return the properties of the file, or of its backup if that has what the file must have lost.

    To look for a backup costs a request. So a file is compared with it only for two reasons: the
    file ends within a line, or its properties order records by event time and do not say by which
    field. Apache Hudi may write the latter, and every other property has a default or is refused.
    """
    believed = StoredProperties(values, PROPERTIES_FILE)
    lacks_fields = lacks_ordering_fields(values)
    if content.endswith(b"\n") and not lacks_fields:
        return believed
    try:
        backup_content = storage.read_bytes(BACKUP_FILE)
        backup = _parse_whole(backup_content)
    except (FileNotFoundError, ValueError):
        return believed
    lines, _, last_line = content.rpartition(b"\n")
    version = parse_properties(lines).get(_VERSION, backup.get(_VERSION))
    if version != backup.get(_VERSION):  # the file is of an upgrade or a downgrade
        return believed
    backup_lines = backup_content.splitlines()
    # An editor may leave out the end of the last line. Then no property is lost.
    is_part = any(line.startswith(last_line) and line != last_line for line in backup_lines)
    lacks_lines = last_line in backup_lines and not backup.keys() <= values.keys()
    if last_line and (is_part or lacks_lines):
        problem = "ends within a line of its backup: the file is cut"
    elif lacks_fields and not lacks_ordering_fields(backup):
        problem = "has no ordering fields, which its backup has: the file is cut"
    else:
        return believed
    return StoredProperties(backup, BACKUP_FILE, problem)


def lacks_ordering_fields(properties: Mapping[str, str]) -> bool:
    """Return whether records are ordered by event time, and no field says by which."""
    mode = properties.get("hoodie.record.merge.mode", "").upper()
    return mode == "EVENT_TIME_ORDERING" and not _ordering_fields(properties)


def has_lost_ordering_fields(properties: Mapping[str, str]) -> bool:
    """Return whether the properties lack ordering fields that Apache Hudi must have written.

    Without ordering fields Apache Hudi orders by commit time, whatever mode its writer is given. It
    orders by event time only if it is given a payload class or a merge strategy that does, and then
    it writes that as well.
    """
    return lacks_ordering_fields(properties) and not any(map(properties.get, _IMPLY_EVENT_TIME))
