"""Accepted differences in the values of partition columns, which may hide a second reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import unquote

from tests.golden.compare import Row
from verification.histories.answers import Answer, Failure
from verification.histories.comparison import Comparison
from verification.histories.ours import read_ours
from verification.histories.queries import Query, QueryKind

_GLOBAL_INDEXES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX")
_OfValue: TypeAlias = "Callable[[Any], Any]"
_OfAnswer: TypeAlias = "Callable[[Answer | Failure], Answer | Failure]"


def alike_but_for_partitions(c: Comparison) -> Iterator[tuple[str, Comparison]]:
    """Yield comparisons with partition values as one reader shows them, and the rule for that."""
    with_nulls = _with_values(c, lambda value: value or None)
    if c.is_encoded and c.query.is_incremental:
        decoded = replace(c, reference=_with_values(c, _decoded)(c.reference))
        yield "D7", decoded
        yield "D7", _with_answers(decoded, with_nulls)
    yield "D7", _with_answers(c, with_nulls)
    if not c.is_encoded:
        yield "D7", _with_answers(c, _with_values(c, lambda value: _of_folder(c, value)))
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
    if c.query.kind is QueryKind.CDC:
        return False
    places = {c.place(name) for name in _text_fields(c)}
    if not places:
        return False

    def theirs(value: Any) -> Any:
        return _decoded(value) if c.is_encoded and c.query.is_incremental else value

    def shown(value: Any) -> Any:
        if not value or c.is_encoded:
            return value or None
        text = value.partition("=")[2] if "=" in value and not c.is_hive_style else value
        return text if c.query.is_incremental else unquote(text)

    if _pruned_as_null(c, places) or _moved_in_unclear_folders(c, places):
        return True
    missing, extra = c.missing.elements(), c.extra.elements()
    return Counter(_changed(missing, places, theirs)) == Counter(_changed(extra, places, shown))


def timestamp_key_generator(c: Comparison) -> bool:
    """D8: the column of a timestamp-based key generator is text for Apache Hudi; others agree."""
    other = _without_partition_columns(c)
    return other is not None and other.agrees(other.reference)


def _text_fields(c: Comparison) -> list[str]:
    return [f for f in c.history.partition_fields if c.history.column_type(f) == "string"]


def _decoded(value: Any) -> Any:
    return value and unquote(value)


def _of_folder(c: Comparison, value: Any) -> Any:
    """Return the value that Apache Hudi makes of a folder without encoding."""
    if not value or c.is_hive_style:
        return _decoded(value)
    return unquote(value.partition("=")[2] or value)


def _changed(rows: Iterable[Row], places: set[int], change: _OfValue) -> Iterator[Row]:
    """Yield rows with other values at some places."""
    for row in rows:
        yield tuple(change(value) if n in places else value for n, value in enumerate(row))


def _with_values(c: Comparison, change: _OfValue) -> _OfAnswer:
    """Return what changes the values of partition columns in an answer."""

    def changed(answer: Answer | Failure) -> Answer | Failure:
        if isinstance(answer, Failure):
            return answer
        places = {answer.names.index(name) for name in _text_fields(c) if name in answer.names}
        return replace(answer, rows=tuple(_changed(answer.rows, places, change)))

    return changed


def _with_answers(c: Comparison, change: _OfAnswer) -> Comparison:
    """Return a comparison with all answers changed, those that Apache Hudi will give as well."""

    def ask_hudi(query: Query) -> Answer | Failure:
        return change(c.ask_hudi(query))

    return replace(c, reference=change(c.reference), ours=change(c.ours), ask_hudi=ask_hudi)


def _pruned_as_null(c: Comparison, places: set[int]) -> bool:
    """Whether a condition made Apache Hudi skip rows with an empty value that it has without it.

    It takes the folder that they share with null for null, although it shows them as the file does.
    """
    if c.missing or not c.query.filter:
        return False
    plain = c.hudi_rows(c.query.with_filter(""))
    if plain is None or c.extra - plain:
        return False
    return all(any(row[place] == "" for place in places) for row in c.extra)


def _is_unclear(c: Comparison, partition_path: str) -> bool:
    if not c.is_encoded and unquote(partition_path) != partition_path:
        return True
    folders = zip(c.history.partition_fields, partition_path.split("/"), strict=False)
    is_named = any(folder.lower().startswith(f"{name}=".lower()) for name, folder in folders)
    return is_named and not c.is_hive_style


def _moved_in_unclear_folders(c: Comparison, places: set[int]) -> bool:
    """Whether the rows differ in text values alone, and all lie in folders that have several.

    They have a percent sign, or begin with the name of a column although they need not.
    """
    if "_hoodie_partition_path" not in c.names:
        return False
    is_global = c.history.options.get("hoodie.index.type", "") in _GLOBAL_INDEXES
    folders = c.values((*c.missing, *c.extra), "_hoodie_partition_path")
    if not is_global or not all(_is_unclear(c, folder) for folder in folders):
        return False

    def others(rows: Counter[Row]) -> Counter[Row]:
        return Counter(_changed(rows.elements(), places, lambda _: None))

    return others(c.missing) == others(c.extra)


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
