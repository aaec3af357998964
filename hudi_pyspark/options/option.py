"""How an option is defined: a field of a dataclass that carries its key, parser and meaning.

The enums are the values of options that are words.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Generic, TypeVar

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.options.instant_text import (
    parse_as_of,
    parse_range_end,
    parse_range_instant,
)
from hudi_pyspark.wording import did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_WHOLE_NUMBER = re.compile(r"[0-9]{1,100}")


class Index(enum.Enum):
    """The indexes that rule out files, by the names that options have.

    All but the bucket index, which the names of files make up, are of the metadata table.
    """

    BUCKET_INDEX = "bucket_index"
    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"
    PARTITION_STATS = "partition_stats"
    SECONDARY_INDEX = "secondary_index"
    EXPRESSION_INDEX = "expr_index"

    def matches(self, partition: str) -> bool:
        """Decide whether a partition of the metadata table holds this index."""
        if self in (Index.SECONDARY_INDEX, Index.EXPRESSION_INDEX):  # users name such indexes
            return partition.startswith(f"{self.value}_")
        return partition == str(self.value)


# Indexes that may be silent about rows of the table, by the names under which a caller trusts them.
TRUSTED: Mapping[str, Index] = {
    "record": Index.RECORD_INDEX,
    "secondary": Index.SECONDARY_INDEX,
    "expression": Index.EXPRESSION_INDEX,
    "partition_stats": Index.PARTITION_STATS,
}


class QueryType(enum.Enum):
    """``hoodie.datasource.query.type``."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"


class MergeType(enum.Enum):
    """``hoodie.datasource.merge.type``."""

    PAYLOAD_COMBINE = "payload_combine"
    SKIP_MERGE = "skip_merge"


class OnMissing(enum.Enum):
    """What to do if commits or files of an incremental query's range are gone."""

    FULL_SCAN = "full_scan"
    FAIL = "fail"
    EARLIEST = "earliest"


class RangeMerge(enum.Enum):
    """Which rows an incremental query merges with the rows that its range wrote."""

    RANGE = "range"
    TABLE = "table"


class HollowCommits(enum.Enum):
    """What to do if a commit inside a range of requested times is still pending."""

    FAIL = "fail"
    BLOCK = "block"  # end before it
    USE_TRANSITION_TIME = "use_transition_time"  # read on


_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_E = TypeVar("_E", bound=enum.Enum)

_MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Kind(Generic[_T_co]):
    """The values that an option takes."""

    values: str  # for docs/options.md, as Markdown
    # Takes the option's name, for errors, and a value, typed or as text; returns the typed value.
    parse: Callable[[str, object], _T_co]
    default: _T_co


@dataclass(frozen=True, slots=True)
class Option:
    """One option; its meaning is the docstring of its field, as Markdown for docs/options.md."""

    field: str  # the name of its field
    key: str  # Apache Hudi's, or the field's name if Apache Hudi does not have the option
    short_name: str  # the field's name if the key is Apache Hudi's, else ""
    other_keys: tuple[str, ...]  # synonyms: older keys, and keys of hudi-rs 0.1 to 0.5
    kind: Kind[object]
    changes_rows: bool  # see `option`
    in_streams: bool  # whether a stream takes it

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the option: key, short name, other keys."""
        return tuple(name for name in (self.key, self.short_name, *self.other_keys) if name)

    def called(self, written: str = "") -> str:
        """Return the name for messages: as the user wrote it, or else the short one; and the key.

        Args:
            written: a name of the option, in any case; "" if the user did not write any.
        """
        name = written or self.short_name or self.key
        return name if name.lower() == self.key.lower() else f"{name} ({self.key})"


def option(kind: Kind[_T], keys: str = "", *, changes_rows: bool, in_streams: bool = True) -> _T:
    """Define a field of a dataclass that is an option.

    Args:
        kind: the values that it takes; has the default of the field.
        keys: its key and other keys, separated by blanks; "" if the field's name is its only key.
        changes_rows: whether a file slice may have other rows with another value: whether reading,
            decoding or merging its files follows the option. False if the option chooses tables,
            instants, slices, columns, or rows by a condition, and if it concerns speed or memory.
            Outcomes of merges are kept for each value of such an option, and small slices are
            merged together only if all of them have their defaults (`ReadOptions.row_options`).
        in_streams: whether a stream takes it.
    """
    definition = {
        "kind": kind,
        "keys": keys,
        "changes_rows": changes_rows,
        "in_streams": in_streams,
    }
    return field(default=kind.default, metadata=definition)


def options_of(owner: type[DataclassInstance]) -> dict[str, Option]:
    """Return the options among the fields of a dataclass, in order: name of the field to option."""
    found: dict[str, Option] = {}
    for each in fields(owner):
        if not each.metadata:
            continue
        key, *other_keys = each.metadata["keys"].split() or [each.name]
        found[each.name] = Option(
            each.name,
            key,
            short_name=each.name if key.startswith(("hoodie.", "as.of.")) else "",
            other_keys=tuple(other_keys),
            kind=each.metadata["kind"],
            changes_rows=each.metadata["changes_rows"],
            in_streams=each.metadata["in_streams"],
        )
    return found


def as_text(value: object) -> str:
    """Return an option's value as Spark's options spell it."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(
    meanings: Mapping[str, _T], default: _T, error: type[InvalidOptionError] = InvalidOptionError
) -> Kind[_T]:
    """Make the kind of options that take a word, in any case; words map to their meanings."""
    synonyms: dict[_T, list[str]] = {}
    for word, meaning in meanings.items():
        synonyms.setdefault(meaning, []).append(f"`{word}`")

    def parse(name: str, value: object) -> _T:
        text = as_text(value)
        word = text.strip().lower()
        if word not in meanings:
            hint = did_you_mean(word, meanings, cutoff=0.8)
            raise error(f"{name} is {text!r}; known: {', '.join(meanings)}{hint}")
        return meanings[word]

    return Kind(", ".join(map(" or ".join, synonyms.values())), parse, default)


def word(
    members: type[_E], error: type[InvalidOptionError] = InvalidOptionError, **synonyms: _E
) -> Kind[_E]:
    """Make the kind of options that take a member of an enum, by its value or a synonym.

    Args:
        members: the enum; its first member is the default.
        error: raised for any other word.
        **synonyms: further words and the members that they mean.
    """
    by_value = {str(member.value): member for member in members}
    return _words(by_value | synonyms, next(iter(members)), error)


def whole_number(values: str = "", *, default: int = 0, most: int | None = _MAX_INT) -> Kind[int]:
    """Make the kind of options that take a whole number, from 1 to ``most`` or without a bound.

    Args:
        values: as `Kind.values`; "" names the bounds.
        default: 0 if the reader chooses.
        most: the largest number; None for no bound.
    """
    bound = f"to {most}" if most is not None else "on"

    def parse(name: str, value: object) -> int:
        text = as_text(value).strip()
        number = int(text) if _WHOLE_NUMBER.fullmatch(text) else 0
        if number < 1 or (most is not None and number > most):
            raise InvalidOptionError(f"{name} is {text!r}; give a whole number from 1 {bound}")
        return number

    return Kind(values or f"from 1 {bound}", parse, default)


def text(values: str, parse: Callable[[str], str] = str, default: str = "") -> Kind[str]:
    """Make the kind of options that take a text, which ``parse`` may check or replace."""
    return Kind(values, lambda _name, value: parse(as_text(value)), default)


def parse_columns(name: str, value: object) -> tuple[str, ...]:
    """Parse names of columns: a text with commas between names, or a sequence of names.

    Args:
        name: of the option, for errors.
        value: the names; blanks around the names of a text are removed.

    Raises:
        InvalidOptionError: there is no name, or one is repeated.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        names = tuple(part.strip() for part in as_text(value).split(",") if part.strip())
    else:
        names = tuple(map(str, value))
    if not names or len(set(names)) != len(names):
        printed = value if isinstance(value, str) else list(names)
        raise InvalidOptionError(f"{name} is {printed!r}: name at least one column, each once")
    return names


def _indexes(indexes: Mapping[str, Index], *, default: bool) -> Kind[frozenset[Index]]:
    """Make the kind of options that choose indexes: all (true), none (false), or some by name."""

    def parse(name: str, value: object) -> frozenset[Index]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            value = as_text(value).split(",")
        names = [as_text(item).strip().lower() for item in value]
        if names in (["true"], ["false"]):
            return frozenset(indexes.values() if names == ["true"] else ())
        if not names or not indexes.keys() >= set(names):
            raise InvalidOptionError(
                f"{name} is {', '.join(names)!r}; give true, false or some of {', '.join(indexes)}"
            )
        return frozenset(indexes[item] for item in names)

    values = "`true`, `false`, or some of " + ", ".join(f"`{name}`" for name in indexes)
    return Kind(values, parse, frozenset(indexes.values() if default else ()))


def _parse_start(text: str) -> str:
    start = text.lower() or "earliest"
    return start if start in ("earliest", "latest") else parse_range_instant(text)


BOOLEAN = _words({"true": True, "false": False}, default=False)
SWITCH = Kind(BOOLEAN.values, BOOLEAN.parse, default=True)
BOOLEAN_OR_TABLE: Kind[bool | None] = Kind(BOOLEAN.values, BOOLEAN.parse, None)
CDC = _words({"latest_state": False, "false": False, "cdc": True, "true": True}, default=False)
COLUMNS: Kind[tuple[str, ...] | None] = Kind("names with commas between", parse_columns, None)
INDEXES = _indexes({index.value: index for index in Index}, default=True)
TRUSTED_INDEXES = _indexes(TRUSTED, default=False)
INSTANT: Kind[str | None] = Kind("an instant, see below", text("", parse_as_of).parse, None)
ANY_NUMBER = whole_number(most=None)  # 0 for no limit
FUNCTION = text("`module:function`")
RANGE_INSTANT = text("an instant, its first digits, `earliest`", parse_range_end)
START = text("`earliest`, `latest`, an instant", _parse_start, "earliest")
