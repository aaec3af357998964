"""Cell-by-cell comparison of two answers, types included, row order ignored.

Both answers are Arrow tables: `rows_of` makes hashable rows of them, and `compare_rows` says which
rows only one of them has. The images of changes (CDC) are JSON text, and Apache Hudi's text differs
from source to source: with and without meta columns, nulls left out, an absent image as the text
null, and no fixed form for decimals, dates, times and bytes. So images are parsed, and only columns
with one form are compared.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Row: TypeAlias = "tuple[Any, ...]"
CHANGE_COLUMNS = ["op", "ts_ms", "before", "after"]
_IMAGES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Difference:
    """What one answer has and the other has not."""

    columns: str  # "" where names and types are equal
    missing: Counter[Row]  # Apache Hudi's only
    extra: Counter[Row]  # ours only

    def __bool__(self) -> bool:
        return bool(self.columns or self.missing or self.extra)

    def __str__(self) -> str:
        if self.columns:
            return self.columns
        rows = f"{self.missing.total()} rows missing, {self.extra.total()} too many"
        first = [sorted(side, key=str)[:1] for side in (self.missing, self.extra)]
        return f"{rows}; Hudi's only: {first[0]}, ours only: {first[1]}"


def differences(actual: pa.Table, expected: pa.Table, schema: list[dict[str, Any]]) -> list[str]:
    """What differs, as sentences; [] if nothing does."""
    unlike = _unlike_columns(actual, schema)
    return [unlike] if unlike else row_differences(actual, expected)


def row_differences(actual: pa.Table, expected: pa.Table) -> list[str]:
    """Which rows of two answers with the same columns differ, as sentences; [] if none does."""
    found = _compare_tables(actual, expected)
    if not found:
        return []
    names = actual.schema.names
    return [
        f"{found.extra.total()} rows too many, {found.missing.total()} missing of {len(expected)}",
        *(f"  ours only:   {_readable(row, names)}" for row in sorted(found.extra, key=str)[:3]),
        *(f"  Hudi's only: {_readable(row, names)}" for row in sorted(found.missing, key=str)[:3]),
    ]


def part_differences(
    actual: pa.Table, expected: pa.Table, schema: list[dict[str, Any]]
) -> list[str]:
    """Why an answer is not some of the expected rows, as sentences; [] if it is."""
    unlike = _unlike_columns(actual, schema)
    if unlike:
        return [unlike]
    extra = _compare_tables(actual, expected).extra
    names = actual.schema.names
    return [f"not of the answer: {_readable(row, names)}" for row in sorted(extra, key=str)[:3]]


def _unlike_columns(actual: pa.Table, schema: list[dict[str, Any]]) -> str:
    return unlike_columns(arrow_columns(actual.schema), spark_columns(schema))


def unlike_columns(found: Sequence[tuple[str, str]], wanted: Sequence[tuple[str, str]]) -> str:
    """Say how names and types of columns differ; "" if they do not."""
    if [*found] == [*wanted]:
        return ""
    only = [f"{n} {t}" for n, t in found if (n, t) not in wanted]
    lost = [f"{n} {t}" for n, t in wanted if (n, t) not in found]
    return f"columns differ: ours {only or found}, Apache Hudi's {lost or wanted}"


def _compare_tables(actual: pa.Table, expected: pa.Table) -> Difference:
    names = actual.schema.names
    return compare_rows(names, rows_of(expected.select(names)), rows_of(actual))


def compare_rows(
    names: Sequence[str],
    theirs: Iterable[Row],
    ours: Iterable[Row],
    image_columns: frozenset[str] | None = None,
) -> Difference:
    """Compare the rows of two answers as multisets.

    Args:
        names: of the columns of both.
        theirs: Apache Hudi's.
        ours: of the reader under test.
        image_columns: what is compared of the images of changes: columns whose values Apache Hudi
            always writes in one form (D5). By default those whose values look like it.
    """
    if names and {*names} <= {*CHANGE_COLUMNS}:
        theirs = [_with_images(row, names) for row in theirs]
        ours = [_with_images(row, names) for row in ours]
        columns = _plain_columns(theirs, ours) if image_columns is None else image_columns
        theirs = [_reduced(row, columns) for row in theirs]
        ours = [_reduced(row, columns) for row in ours]
    expected, found = Counter(theirs), Counter(ours)
    return Difference("", expected - found, found - expected)


def _with_images(row: Row, names: Sequence[str]) -> Row:
    """Return a row of changes with its images parsed; None for an absent one."""
    return tuple(
        (json.loads(value) if value else None) if name in _IMAGES else value
        for name, value in zip(names, row, strict=True)
    )


def _plain_columns(theirs: Iterable[Row], ours: Iterable[Row]) -> frozenset[str]:
    """Return data columns of our images with values of one form in the images of both."""
    images = [image for row in ours for image in _images(row)]
    names = {name for image in images for name in image if not name.startswith("_hoodie_")}
    images += [image for row in theirs for image in _images(row)]
    return frozenset(
        name for name in names if all(_has_one_form(image.get(name)) for image in images)
    )


def _images(row: Row) -> list[dict[str, Any]]:
    return [value for value in row if isinstance(value, dict)]


def _has_one_form(value: Any) -> bool:
    """Whether a value is no nested one, date or timestamp: these are numbers in Hudi's images."""
    if isinstance(value, str):
        return re.match(r"\d{4}-\d\d-\d\d", value) is None
    return not isinstance(value, (dict, list))


def _reduced(row: Row, names: Iterable[str]) -> Row:
    """Return a row of changes with what its images have of some columns, apart from nulls."""
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


def arrow_columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types of the columns of an Arrow schema."""
    return [(field.name, arrow_type_name(field.type)) for field in schema]


def spark_columns(fields: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Names and types of the fields of Spark's schema JSON."""
    return [(field["name"], spark_type_name(field["type"])) for field in fields]


def rows_of(table: pa.Table, *, maps_have_order: bool = True) -> list[Row]:
    """The rows in their order, of values that are equal if and only if they are the same.

    Args:
        table: an answer.
        maps_have_order: whether maps with their entries in another order differ. Rows that Spark
            collects have lost this order.
    """
    columns = [
        [_hashable(value, maps_have_order=maps_have_order) for value in _values(column)]
        for column in table.columns
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):  # Python has no such time
        return column.cast(_in_numbers(column.type)).to_pylist()  # type: ignore[no-any-return]


def _in_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type with the days and the units of its dates and timestamps."""
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_numbers(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_in_numbers(kind.key_type), _in_numbers(kind.item_type))
    return kind


def _hashable(value: Any, *, maps_have_order: bool) -> Any:
    hashable = partial(_hashable, maps_have_order=maps_have_order)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, dict):
        return tuple((name, hashable(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        items = tuple(map(hashable, value))
        is_map = isinstance(value, list) and any(isinstance(item, tuple) for item in value)
        return tuple(sorted(items, key=repr)) if is_map and not maps_have_order else items
    return value


def _float_text(value: float) -> str:
    """Return a number by its bits, so that -0.0 is not 0.0, and NaN equals NaN."""
    return "NaN" if math.isnan(value) else value.hex()


def _readable(row: tuple[Any, ...], names: list[str]) -> str:
    return str({n: v for n, v in zip(names, row, strict=True) if n != "_hoodie_commit_seqno"})
