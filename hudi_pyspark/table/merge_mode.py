"""How records of one key are merged: resolved from a table's properties, per table version."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError

if TYPE_CHECKING:
    from hudi_pyspark.table.config import TableConfig

EVENT_TIME_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
COMMIT_TIME_STRATEGY = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
DEFAULT_PAYLOAD = "DefaultHoodieRecordPayload"
DELETE_FIELD = "hoodie.payload.delete.field"
DELETE_MARKER = "hoodie.payload.delete.marker"


class RecordMergeMode(enum.Enum):
    """``hoodie.record.merge.mode``."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


_MODE_OF_PAYLOAD = {
    "DefaultHoodieRecordPayload": RecordMergeMode.EVENT_TIME_ORDERING,
    "EventTimeAvroPayload": RecordMergeMode.EVENT_TIME_ORDERING,
    "OverwriteWithLatestAvroPayload": RecordMergeMode.COMMIT_TIME_ORDERING,
}
_MODE_OF_STRATEGY = {
    EVENT_TIME_STRATEGY: RecordMergeMode.EVENT_TIME_ORDERING,
    COMMIT_TIME_STRATEGY: RecordMergeMode.COMMIT_TIME_ORDERING,
}


@dataclass(frozen=True, slots=True)
class MergeRule:
    """What decides between two records of the same key."""

    mode: RecordMergeMode
    ordering_fields: tuple[str, ...]  # () when every ordering value is the default
    payload_class: str  # only with CUSTOM, else ""
    merge_strategy_id: str  # only with CUSTOM, else ""
    partial_update_mode: str  # "" unless a table of version 9 sets one
    delete_field: str  # column whose value marks a delete; "" when there is none
    delete_marker: str  # that value

    def check_supported(self) -> None:
        """Refuse what cannot be merged correctly; needed only for slices with log files.

        Raises:
            UnsupportedMergeError: names the property, its value, and what can be done.
        """
        if self.mode is RecordMergeMode.CUSTOM:
            named = self.payload_class or self.merge_strategy_id
            found = f"its records are merged by {named}"
        elif self.partial_update_mode:
            found = f"hoodie.table.partial.update.mode is {self.partial_update_mode}"
        else:
            return
        raise UnsupportedMergeError(
            f"the table has log files and {found}; COMMIT_TIME_ORDERING and EVENT_TIME_ORDERING "
            "are covered (OverwriteWithLatestAvroPayload, DefaultHoodieRecordPayload, "
            "EventTimeAvroPayload). Read the base files alone with "
            "hoodie.datasource.query.type=read_optimized, or run a compaction with Apache Hudi"
        )


def resolve_merge_rule(config: TableConfig, delete_field: str, delete_marker: str) -> MergeRule:
    """The rule of a table.

    Args:
        config: the table's properties.
        delete_field: read option hoodie.payload.delete.field, "" to take the table's.
        delete_marker: read option hoodie.payload.delete.marker, "" to take the table's.

    Raises:
        CorruptTableError: only one half of the delete marker is configured, or the merge mode is
            none that Hudi knows.
    """
    payload = config.payload_class.rpartition(".")[2]
    mode = _mode(config, payload)
    custom = mode is RecordMergeMode.CUSTOM
    field = delete_field or _table_property(config, DELETE_FIELD)
    marker = delete_marker or _table_property(config, DELETE_MARKER)
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
        partial_update_mode=config.partial_update_mode if config.version >= 9 else "",
        delete_field=field,
        delete_marker=marker,
    )


def _mode(config: TableConfig, payload: str) -> RecordMergeMode:
    if config.version < 8:
        # The payload class wins over the strategy: Hudi 0.15 writes the event-time strategy for
        # every payload class. Without either, Hudi 1.x falls back to DefaultHoodieRecordPayload.
        if payload or not config.merge_strategy_id:
            return _MODE_OF_PAYLOAD.get(payload or DEFAULT_PAYLOAD, RecordMergeMode.CUSTOM)
        return _MODE_OF_STRATEGY.get(config.merge_strategy_id, RecordMergeMode.CUSTOM)
    if config.merge_mode:
        try:
            return RecordMergeMode(config.merge_mode)
        except ValueError:
            known = ", ".join(member.value for member in RecordMergeMode)
            raise CorruptTableError(
                f"hoodie.record.merge.mode is {config.merge_mode!r}; known: {known}"
            ) from None
    return _inferred_mode(config, payload)


def _inferred_mode(config: TableConfig, payload: str) -> RecordMergeMode:
    """The mode a writer would have stored, for a table of version 8 or 9 without one."""
    if config.merge_strategy_id:
        return _MODE_OF_STRATEGY.get(config.merge_strategy_id, RecordMergeMode.CUSTOM)
    if payload:
        return _MODE_OF_PAYLOAD.get(payload, RecordMergeMode.CUSTOM)
    if config.ordering_fields:
        return RecordMergeMode.EVENT_TIME_ORDERING
    return RecordMergeMode.COMMIT_TIME_ORDERING


def _table_property(config: TableConfig, key: str) -> str:
    return config.merge_properties.get(key) or config.properties.get(key, "")
