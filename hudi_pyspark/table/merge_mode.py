"""Resolve from a table's properties how records of one key are merged."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError

if TYPE_CHECKING:
    from hudi_pyspark.table.config import TableConfig

EVENT_TIME_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
COMMIT_TIME_STRATEGY = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
PAYLOAD_STRATEGY = "00000000-0000-0000-0000-000000000000"
DEFAULT_PAYLOAD = "DefaultHoodieRecordPayload"
# Other packages may have classes of the same simple names. Hudi was com.uber's at first.
_METADATA_PAYLOAD = "HoodieMetadataPayload"
_PACKAGES = ("org.apache.hudi.", "com.uber.hoodie.")
DELETE_FIELD = "hoodie.payload.delete.field"
DELETE_MARKER = "hoodie.payload.delete.marker"
OPERATION_FIELD = "_change_operation_type"
DMS_OPERATION_FIELD = "Op"
MYSQL_SEQUENCE_FIELD = "_event_seq"
POSTGRES_LSN_FIELD = "_event_lsn"
PARTIAL_UPDATE_MODES = ("IGNORE_DEFAULTS", "FILL_UNAVAILABLE")
MergeFunction = Callable[[pa.Table, pa.Table], pa.Table]


class RecordMergeMode(enum.Enum):
    """``hoodie.record.merge.mode``."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


class MergeCache(enum.Enum):
    """Option ``merge_cache``: where the outcomes of merges are kept."""

    MEMORY = "memory"
    DISK = "disk"
    OFF = "off"


class PayloadClass(NamedTuple):
    """What merging needs to know about a payload class of Apache Hudi."""

    decision: str  # name of the function in `reading.merge.payload` that decides like the class
    fields: tuple[str, ...] = ()  # columns that it looks at, besides the ordering fields
    mode: RecordMergeMode = RecordMergeMode.CUSTOM  # that the class implies
    delete_marker: tuple[str, str] = ("", "")  # column, and its value, that mark a delete


_COMMIT_TIME = RecordMergeMode.COMMIT_TIME_ORDERING
_EVENT_TIME = RecordMergeMode.EVENT_TIME_ORDERING
_DEBEZIUM_DELETE = (OPERATION_FIELD, "d")

PAYLOADS: Mapping[str, PayloadClass] = {
    "OverwriteWithLatestAvroPayload": PayloadClass("overwrite_with_latest", mode=_COMMIT_TIME),
    "DefaultHoodieRecordPayload": PayloadClass("default_payload", mode=_EVENT_TIME),
    "EventTimeAvroPayload": PayloadClass("default_payload", mode=_EVENT_TIME),
    "FirstValueAvroPayload": PayloadClass("first_value"),
    "OverwriteNonDefaultsWithLatestAvroPayload": PayloadClass("overwrite_non_defaults"),
    "PartialUpdateAvroPayload": PayloadClass("partial_update"),
    "AWSDmsAvroPayload": PayloadClass(
        "aws_dms", (DMS_OPERATION_FIELD,), delete_marker=(DMS_OPERATION_FIELD, "D")
    ),
    "MySqlDebeziumAvroPayload": PayloadClass(
        "mysql_debezium", (OPERATION_FIELD, MYSQL_SEQUENCE_FIELD), delete_marker=_DEBEZIUM_DELETE
    ),
    "PostgresDebeziumAvroPayload": PayloadClass(
        "postgres_debezium", (OPERATION_FIELD, POSTGRES_LSN_FIELD), delete_marker=_DEBEZIUM_DELETE
    ),
}
"""The covered payload classes, by their simple names."""
UNKNOWN_PAYLOAD = PayloadClass("")
"""What merging knows about any other class."""

_MODE_OF_STRATEGY = {EVENT_TIME_STRATEGY: _EVENT_TIME, COMMIT_TIME_STRATEGY: _COMMIT_TIME}


@dataclass(frozen=True, slots=True)
class PayloadMerger:
    """A user's function that merges the records of a payload class."""

    merge: MergeFunction
    columns: tuple[str, ...] | None  # names of the columns that it needs; None for all


@dataclass(frozen=True, slots=True)
class MergeRule:
    """The rule that decides between two records of the same key."""

    mode: RecordMergeMode
    ordering_fields: tuple[str, ...]  # () if every ordering value is the default
    payload_class: str  # only with CUSTOM, else ""
    merge_strategy_id: str  # only with CUSTOM, else ""
    partial_update_mode: str  # "" unless a table of version 9 sets one
    delete_field: str  # column whose value marks a delete; "" if no column does
    delete_marker: str  # that value

    merge_properties: tuple[tuple[str, str], ...] = ()  # hoodie.record.merge.property.*
    # Defaults of columns in the table's schema, of rules that merge column by column.
    column_defaults: tuple[tuple[str, pa.Scalar], ...] = ()
    # The base row is merged as the oldest of the log records, as in the storage layout lsm_tree;
    # otherwise with what the log records have become.
    folds_base_rows: bool = False
    merger: PayloadMerger | None = None  # only with CUSTOM; None if Hudi's own rules decide

    @property
    def needs_fold(self) -> bool:
        """Whether a merged record may have values of several records."""
        return self.mode is RecordMergeMode.CUSTOM or bool(self.partial_update_mode)

    @property
    def compared_fields(self) -> tuple[str, ...]:
        """Ordering fields by which a base row is compared with a log record; () in commit order."""
        is_by_event_time = self.mode is RecordMergeMode.EVENT_TIME_ORDERING
        return self.ordering_fields if is_by_event_time else ()

    @property
    def payload_name(self) -> str:
        """Simple name of a payload class of Apache Hudi; the full name of any other class."""
        return _own_name(self.payload_class)


def check_supported(rule: MergeRule) -> None:
    """Refuse a rule by which this package cannot merge, unless the user has a merger for it.

    Raises:
        UnsupportedMergeError: the payload class, merge strategy or partial update mode is not
            known.
    """
    if rule.partial_update_mode not in ("", *PARTIAL_UPDATE_MODES):
        raise UnsupportedMergeError(
            f"hoodie.table.partial.update.mode is {rule.partial_update_mode!r}; known: "
            f"{', '.join(PARTIAL_UPDATE_MODES)}"
        )
    if rule.mode is not RecordMergeMode.CUSTOM or rule.merger is not None:
        return
    by_payload = rule.merge_strategy_id in ("", PAYLOAD_STRATEGY, EVENT_TIME_STRATEGY)
    if rule.payload_name == _METADATA_PAYLOAD:
        raise UnsupportedMergeError(
            "this is the metadata table of a table",
            advice=(
                "Open the table itself, the folder above .hoodie: "
                "HudiTable(path).inspect.metadata_records() has these rows, and hudi-py metadata "
                "PATH prints them"
            ),
        )
    if not (by_payload and rule.payload_name in PAYLOADS):
        merger_name = rule.payload_class or f"merge strategy {rule.merge_strategy_id}"
        raise UnsupportedMergeError(
            f"the table has log files whose records are merged by {merger_name}, Java code that "
            "cannot run here",
            advice=(
                "Give the same rule in Python with hudi_pyspark.register_payload, read the base "
                "files alone with hoodie.datasource.query.type=read_optimized, or run a "
                f"compaction with Apache Hudi. Covered: {', '.join(PAYLOADS)}"
            ),
        )


def resolve_merge_rule(config: TableConfig, delete_field: str, delete_marker: str) -> MergeRule:
    """Return the merge rule of a table, without defaults of columns or a user's merger.

    The merge mode comes from the properties, or is implied by the payload class of older tables, as
    in Hudi's HoodieTableConfig. By commit time there are no ordering fields.

    Args:
        config: the table's properties.
        delete_field: of the query's options; "" takes the field of the table or its payload class.
        delete_marker: of the query's options; "" takes the marker of the table or its payload
            class.

    Raises:
        CorruptTableError: there is a delete field without a marker, or a marker without a field,
            or the merge mode is unknown.
    """
    payload = _own_name(config.payload_class)
    mode = _mode(config, payload)
    custom = mode is RecordMergeMode.CUSTOM
    implying = {} if config.has_payload_rules else PAYLOADS
    implied_field, implied_marker = implying.get(payload, UNKNOWN_PAYLOAD).delete_marker
    field = (
        delete_field
        or config.merge_properties.get(DELETE_FIELD)
        or config.properties.get(DELETE_FIELD)
        or implied_field
    )
    marker = (
        delete_marker
        or config.merge_properties.get(DELETE_MARKER)
        or config.properties.get(DELETE_MARKER)
        or implied_marker
    )
    if bool(field) != bool(marker):
        raise CorruptTableError(
            f"{DELETE_FIELD} is {field!r} and {DELETE_MARKER} is {marker!r}: set both or none"
        )
    return MergeRule(
        mode=mode,
        # Commit-time ordering ignores ordering values altogether.
        ordering_fields=(
            () if mode is RecordMergeMode.COMMIT_TIME_ORDERING else config.ordering_fields
        ),
        payload_class=config.payload_class if custom else "",
        merge_strategy_id=config.merge_strategy_id if custom else "",
        partial_update_mode=config.partial_update_mode if config.has_payload_rules else "",
        delete_field=field,
        delete_marker=marker,
        merge_properties=tuple(config.merge_properties.items()),
        folds_base_rows=config.storage_layout == "LSM_TREE",
    )


def _own_name(payload_class: str) -> str:
    if payload_class.startswith(_PACKAGES):
        return payload_class.rpartition(".")[2]
    return payload_class


def _mode(config: TableConfig, payload: str) -> RecordMergeMode:
    is_old = not config.has_merge_mode
    if config.merge_mode and not is_old:
        try:
            return RecordMergeMode(config.merge_mode)
        except ValueError:
            modes = ", ".join(member.value for member in RecordMergeMode)
            raise CorruptTableError(
                f"hoodie.record.merge.mode is {config.merge_mode!r}; known: {modes}"
            ) from None
    # Up to version 7 the payload class wins over the strategy: Hudi 0.15 writes the event-time
    # strategy for every payload class. Without class and strategy, Hudi 1.x falls back to
    # DefaultHoodieRecordPayload. Later versions have the mode that a writer would have stored.
    if config.merge_strategy_id and not (is_old and payload):
        return _MODE_OF_STRATEGY.get(config.merge_strategy_id, RecordMergeMode.CUSTOM)
    if payload or is_old:
        return PAYLOADS.get(payload or DEFAULT_PAYLOAD, UNKNOWN_PAYLOAD).mode
    if config.ordering_fields:
        return RecordMergeMode.EVENT_TIME_ORDERING
    return RecordMergeMode.COMMIT_TIME_ORDERING
