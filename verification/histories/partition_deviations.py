"""Accepted differences in the values of partition columns, which may hide a second reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from verification.histories.compare import Answer, Failure, Row
from verification.histories.comparison import Comparison
from verification.histories.ours import read_ours
from verification.histories.queries import Query, QueryKind

_GLOBAL_INDEXES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX")


def alike_but_for_partitions(c: Comparison) -> Iterator[tuple[str, Comparison]]:
    """Yield comparisons with partition values as one reader shows them, and the rule for that."""
    decoded = _with_decoded_folders(c)
    if decoded is not None:
        yield "D7", decoded
    yield "D7", _with_values(decoded or c, lambda v: v or None)
    yield "D7", _with_values(c, lambda v: v or None)
    if not c.is_encoded:
        yield "D7", _with_values(c, lambda v: _shown(v, is_hive_style=c.is_hive_style))
    others = _without_partition_columns(c)
    if others is not None:
        yield "D8", others


def partition_value(c: Comparison) -> bool:
    """D7: Apache Hudi takes the value from the folder's name, which cannot hold all of them.

    It shows null for the empty string. Where folders are not encoded it still decodes them,
    and takes what follows the first `=` of a folder without hive style; where they are encoded, it
    does not decode them in incremental queries. What looks like an escape in a folder that is not
    encoded may belong to the value: the file decides, also about a row that a global index left.
    """
    found = c.rows_that_differ()
    places = {c.our_names.index(name) for name in _text_fields(c)}
    if not places or c.query.kind is QueryKind.CDC:
        return False

    def theirs(value: Any) -> Any:
        return unquote(value) if value and c.is_encoded and c.query.is_incremental else value

    def shown(value: Any) -> Any:
        if not value or c.is_encoded:
            return value or None
        text = value.partition("=")[2] if "=" in value and not c.is_hive_style else value
        return text if c.query.is_incremental else unquote(text)

    if _pruned_as_null(c, places) or _moved_in_unclear_folders(c, places):
        return True
    missing = Counter(_changed(row, places, theirs) for row in found.missing.elements())
    return missing == Counter(_changed(row, places, shown) for row in found.extra.elements())


def timestamp_key_generator(c: Comparison) -> bool:
    """D8: the column of a timestamp-based key generator is text for Apache Hudi; others agree."""
    other = _without_partition_columns(c)
    return other is not None and other.agrees(other.reference)


def _text_fields(c: Comparison) -> list[str]:
    return [f for f in c.history.partition_fields if c.history.column_type(f) == "string"]


def _changed(row: Row, places: set[int], change: Callable[[Any], Any]) -> Row:
    return tuple(change(v) if n in places else v for n, v in enumerate(row))


def _shown(value: Any, *, is_hive_style: bool) -> Any:
    """Return the value that Apache Hudi makes of a folder without encoding."""
    if not value:
        return value
    return unquote(value if is_hive_style else value.partition("=")[2] or value)


def _with_decoded_folders(c: Comparison) -> Comparison | None:
    """The same comparison with the values of encoded folders decoded on Apache Hudi's side."""
    if not c.is_encoded or not c.query.is_incremental:
        return None
    return replace(c, reference=_with_partition_values(c, c.reference, lambda v: v and unquote(v)))


def _with_values(c: Comparison, change: Callable[[Any], Any]) -> Comparison:
    return _with_answers(c, lambda answer: _with_partition_values(c, answer, change))


def _with_answers(
    c: Comparison, change: Callable[[Answer | Failure], Answer | Failure]
) -> Comparison:
    def ask_hudi(query: Query) -> Answer | Failure:
        return change(c.ask_hudi(query))

    return replace(c, reference=change(c.reference), ours=change(c.ours), ask_hudi=ask_hudi)


def _with_partition_values(
    c: Comparison, answer: Answer | Failure, change: Callable[[Any], Any]
) -> Answer | Failure:
    if isinstance(answer, Failure):
        return answer
    places = {answer.names.index(name) for name in _text_fields(c) if name in answer.names}
    return replace(answer, rows=tuple(_changed(row, places, change) for row in answer.rows))


def _pruned_as_null(c: Comparison, places: set[int]) -> bool:
    """Whether a condition made Apache Hudi skip rows with an empty value that it has without it.

    It takes the folder that they share with null for null, although it shows them as the file does.
    """
    found = c.rows_that_differ()
    if found.missing or not c.query.filter:
        return False
    plain = c.ask_hudi(c.query.with_filter(""))
    return (
        isinstance(plain, Answer)
        and not found.extra - Counter(plain.rows)
        and all(any(row[place] == "" for place in places) for row in found.extra)
    )


def _moved_in_unclear_folders(c: Comparison, places: set[int]) -> bool:
    """Whether the rows differ in text values alone, and all lie in folders with a percent sign."""
    if "_hoodie_partition_path" not in c.our_names:
        return False
    found = c.rows_that_differ()
    is_global = c.history.options.get("hoodie.index.type", "") in _GLOBAL_INDEXES
    folders = {c.column(row, "_hoodie_partition_path") for row in (*found.missing, *found.extra)}
    if c.is_encoded or not is_global or any(unquote(f) == f for f in folders):
        return False

    def others(rows: Counter[Row]) -> Counter[Row]:
        return Counter(_changed(row, places, lambda _: None) for row in rows.elements())

    return others(found.missing) == others(found.extra)


def _without_partition_columns(c: Comparison) -> Comparison | None:
    """The same comparison without the columns of a timestamp-based key generator.

    It is without the filter, too, where that compares such a column.
    """
    fields = c.history.partition_fields
    if "TimestampBased" not in c.properties.get("hoodie.table.keygenerator.class", ""):
        return None

    def others(answer: Answer | Failure) -> Answer | Failure:
        if isinstance(answer, Failure):
            return answer
        kept = [n for n, name in enumerate(answer.names) if name not in fields]
        columns = tuple(answer.columns[n] for n in kept)
        return Answer(columns, tuple(tuple(row[n] for n in kept) for row in answer.rows))

    if any(f"`{field}`" in c.query.filter for field in fields):
        query = c.query.with_filter("")
        c = replace(c, query=query, reference=c.ask_hudi(query), ours=read_ours(c.path, query))
    return _with_answers(c, others)
