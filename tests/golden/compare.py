"""Cell-by-cell comparison of two answers, types included, row order ignored."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANGE_COLUMNS = ["op", "ts_ms", "before", "after"]


def differences(actual: pa.Table, expected: pa.Table, schema: list[dict[str, Any]]) -> list[str]:
    """What differs, as sentences; [] if nothing does."""
    unlike = _unlike_columns(actual, schema)
    return [unlike] if unlike else row_differences(actual, expected)


def row_differences(actual: pa.Table, expected: pa.Table) -> list[str]:
    """Which rows of two answers with the same columns differ, as sentences; [] if none does."""
    extra, missing = _extra_and_missing(actual, expected)
    if not extra and not missing:
        return []
    names = actual.schema.names
    return [
        f"{sum(extra.values())} rows too many, {sum(missing.values())} missing of {len(expected)}",
        *(f"  ours only:   {_readable(row, names)}" for row in sorted(extra, key=str)[:3]),
        *(f"  Hudi's only: {_readable(row, names)}" for row in sorted(missing, key=str)[:3]),
    ]


def part_differences(
    actual: pa.Table, expected: pa.Table, schema: list[dict[str, Any]]
) -> list[str]:
    """Why an answer is not some of the expected rows, as sentences; [] if it is."""
    unlike = _unlike_columns(actual, schema)
    if unlike:
        return [unlike]
    extra, _ = _extra_and_missing(actual, expected)
    names = actual.schema.names
    return [f"not of the answer: {_readable(row, names)}" for row in sorted(extra, key=str)[:3]]


def _unlike_columns(actual: pa.Table, schema: list[dict[str, Any]]) -> str:
    found = [(field.name, arrow_type_name(field.type)) for field in actual.schema]
    return unlike_columns(found, [(f["name"], spark_type_name(f["type"])) for f in schema])


def unlike_columns(found: Sequence[tuple[str, str]], wanted: Sequence[tuple[str, str]]) -> str:
    """Say how names and types of columns differ; "" if they do not."""
    if [*found] == [*wanted]:
        return ""
    only = [f"{n} {t}" for n, t in found if (n, t) not in wanted]
    lost = [f"{n} {t}" for n, t in wanted if (n, t) not in found]
    return f"columns differ: ours {only or found}, Apache Hudi's {lost or wanted}"


def _extra_and_missing(
    actual: pa.Table, expected: pa.Table
) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
    names = actual.schema.names
    if names and set(names) <= set(CHANGE_COLUMNS):
        ours, theirs = _change_rows(actual, expected)
    else:
        ours, theirs = Counter(rows_of(actual)), Counter(rows_of(expected.select(names)))
    return ours - theirs, theirs - ours


def _change_rows(
    actual: pa.Table, expected: pa.Table
) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
    """CDC rows with their images parsed, reduced to what Apache Hudi writes in one format.

    Apache Hudi's JSON text differs from source to source: with and without meta columns, nulls left
    out, an absent image as the text null, and no fixed form for decimals, dates, times and bytes.
    """
    ours, theirs = _parsed_changes(actual), _parsed_changes(expected)
    names = {name for row in ours for image in _images(row) for name in image}
    data = {name for name in names if not name.startswith("_hoodie_")}
    simple = {name for name in data if _is_simple(name, [*ours, *theirs])}
    return (
        Counter(_reduced(row, simple) for row in ours),
        Counter(_reduced(row, simple) for row in theirs),
    )


def _parsed_changes(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of some of the columns of changes."""
    columns = [
        [json.loads(v) if v else None for v in column.to_pylist()]
        if name in ("before", "after")
        else column.to_pylist()
        for name, column in zip(table.schema.names, table.columns, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _images(row: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [value for value in row if isinstance(value, dict)]


def _is_simple(name: str, rows: list[tuple[Any, ...]]) -> bool:
    """Whether all values are text without a fixed form, booleans, or numbers."""
    values = [image.get(name) for row in rows for image in _images(row)]
    return not any(isinstance(v, (dict, list)) or _has_own_form(v) for v in values)


def _has_own_form(value: Any) -> bool:
    """Dates and timestamps are text here, and numbers in Apache Hudi's images."""
    return isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value) is not None


def _reduced(row: tuple[Any, ...], names: set[str]) -> tuple[Any, ...]:
    return tuple(
        tuple((n, value.get(n)) for n in sorted(names) if value.get(n) is not None)
        if isinstance(value, dict)
        else value
        for value in row
    )


_SIMPLE = (pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
_KINDS = {"i": ("", "insert"), "d": ("delete", ""), "u": ("update_preimage", "update_postimage")}


def changelog_rows(
    changelog: pa.Table, changes: pa.Table
) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
    """The rows of a changelog, and those that Apache Hudi's changes say.

    They have the data columns of types for which Apache Hudi's JSON has one form.
    """
    types = zip(changelog.schema.names, changelog.schema.types, strict=True)
    names = [n for n, kind in types if n[0] != "_" and any(is_kind(kind) for is_kind in _SIMPLE)]
    shown = changelog.select(["_change_type", "_commit_version", *names])
    ours = Counter(zip(*shown.to_pydict().values(), strict=True))
    theirs: Counter[tuple[Any, ...]] = Counter()
    for change in changes.to_pylist():
        for side, kind in zip(("before", "after"), _KINDS[change["op"]], strict=True):
            if kind:
                image = json.loads(change[side])
                values = (image.get(name) for name in names)
                theirs[(kind, int(change["ts_ms"]), *values)] += 1
    return ours, theirs


def spark_type_name(kind: Any) -> str:
    """Type of Spark's schema JSON in one notation, nullability left out."""
    if isinstance(kind, str):
        return kind
    if kind["type"] == "array":
        return f"array<{spark_type_name(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{spark_type_name(kind['keyType'])},{spark_type_name(kind['valueType'])}>"
    fields = ",".join(f"{f['name']}:{spark_type_name(f['type'])}" for f in kind["fields"])
    return f"struct<{fields}>"


_NAMES = {
    pa.bool_(): "boolean", pa.int32(): "integer", pa.int64(): "long", pa.float32(): "float",
    pa.float64(): "double", pa.string(): "string", pa.binary(): "binary", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip


def arrow_type_name(kind: pa.DataType) -> str:
    """The same notation for an Arrow type."""
    if kind in _NAMES:
        return _NAMES[kind]
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"array<{arrow_type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{arrow_type_name(kind.key_type)},{arrow_type_name(kind.item_type)}>"
    if pa.types.is_struct(kind):
        fields = ",".join(f"{f.name}:{arrow_type_name(f.type)}" for f in kind)
        return f"struct<{fields}>"
    return f"(Arrow) {kind}"


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows in their order, of values that are equal if and only if they are the same."""
    columns = [[_hashable(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _hashable(value: Any) -> Any:
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        return tuple((name, _hashable(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, tuple):
        return tuple(_hashable(item) for item in value)
    return value


def float_text(value: float) -> str:
    """Return a number by its bits, so that -0.0 is not 0.0, and NaN equals NaN."""
    return "NaN" if math.isnan(value) else value.hex()


def _readable(row: tuple[Any, ...], names: list[str]) -> str:
    return str({n: v for n, v in zip(names, row, strict=True) if n != "_hoodie_commit_seqno"})
