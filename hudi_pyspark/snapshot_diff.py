"""Comparison of two snapshots of a table, row by row."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import differing_values
from hudi_pyspark.columns.json_text import json_text
from hudi_pyspark.errors import SchemaEvolutionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]

INSERT, UPDATE, DELETE = "insert", "update", "delete"


def diff_snapshots(
    before: pa.Table, after: pa.Table, keys: Sequence[str], compared: Sequence[str]
) -> pa.Table:
    """Compare two snapshots row by row."""
    schema = _common_schema(before.schema, after.schema, [*keys, *compared])
    # Scans return rows in any order; the answer is in the order of the keys.
    order = [(name, "ascending") for name in keys]
    old, new = (_conform(side, schema).sort_by(order) for side in (before, after))
    old_rows, new_rows, deleted, inserted = _match(_texts(old, keys), _texts(new, keys), old, new)
    was, now = old.take(old_rows), new.take(new_rows)
    differs = {name: differing_values(was.column(name), now.column(name)) for name in compared}
    is_changed = np.logical_or.reduce([*differs.values(), np.zeros(len(old_rows), np.bool_)])
    updated = np.flatnonzero(is_changed)
    changed = [[name for name in compared if differs[name][row]] for row in updated]
    part = partial(_part, keys=keys, compared=compared)
    parts = [
        part(UPDATE, before=was.take(updated), after=now.take(updated), changed=changed),
        part(INSERT, after=new.take(inserted)),
        part(DELETE, before=old.take(deleted)),
    ]
    return pa.concat_tables(parts)


def _common_schema(before: pa.Schema, after: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, (after if name in after.names else before).field(name).type)
            for name in dict.fromkeys(names)
        ]
    )


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        try:
            columns.append(table.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            old_type = table.schema.field(field.name).type
            raise SchemaEvolutionError(
                f"column {field.name!r} was {old_type} and is {field.type} now, and its old values "
                f"do not fit: {error}. Compare the other columns"
            ) from error
    return pa.Table.from_arrays(columns, schema=schema)


def _match(
    old_keys: pa.Array, new_keys: pa.Array, old: pa.Table, new: pa.Table
) -> tuple[Rows, Rows, Rows, Rows]:
    """Return the rows of both snapshots in pairs, deleted old rows, and inserted new rows."""
    repeated = pa.concat_arrays([_repeated(old_keys), _repeated(new_keys)])
    old_repeats, new_repeats = _is_in(old_keys, repeated), _is_in(new_keys, repeated)
    old_places = pc.index_in(new_keys, value_set=old_keys)
    is_new = np.asarray(pc.is_null(old_places))
    is_pair = ~is_new & ~new_repeats
    pairs = np.flatnonzero(is_pair)
    is_deleted = ~_is_in(old_keys, new_keys) & ~old_repeats
    old_only, new_only = _without_equals(
        old, new, np.flatnonzero(old_repeats), np.flatnonzero(new_repeats)
    )
    return (
        np.asarray(old_places.fill_null(0), np.int64)[pairs],
        pairs,
        np.sort(np.concatenate([np.flatnonzero(is_deleted), old_only])),
        np.sort(np.concatenate([np.flatnonzero(is_new & ~new_repeats), new_only])),
    )


def _without_equals(
    old: pa.Table, new: pa.Table, old_rows: Rows, new_rows: Rows
) -> tuple[Rows, Rows]:
    """Return which rows of repeated keys have no equal row in the other snapshot."""
    old_texts = _texts(old.take(old_rows), old.column_names).to_pylist()
    new_texts = _texts(new.take(new_rows), new.column_names).to_pylist()
    return (
        _without_texts(old_rows, old_texts, Counter(new_texts)),
        _without_texts(new_rows, new_texts, Counter(old_texts)),
    )


def _without_texts(rows: Rows, texts: Sequence[str], others: Counter[str]) -> Rows:
    kept = []
    for row, text in zip(rows, texts, strict=True):
        if others[text]:
            others[text] -= 1
        else:
            kept.append(row)
    return np.asarray(kept, np.int64)


def _repeated(keys: pa.Array) -> pa.Array:
    counted = keys.value_counts()
    values: pa.Array = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
    return values


def _is_in(keys: pa.Array, wanted: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.is_in(keys, value_set=wanted))


def _texts(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return one text per row, which is the same only for the same values of some columns."""
    return json_text(_struct(table, names))


def _struct(table: pa.Table, names: Sequence[str]) -> pa.StructArray:
    columns = [table.column(name).combine_chunks() for name in names]
    fields = [table.schema.field(name) for name in names]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _part(
    change: str,
    keys: Sequence[str],
    compared: Sequence[str],
    *,
    before: pa.Table | None = None,
    after: pa.Table | None = None,
    changed: Sequence[list[str]] | None = None,
) -> pa.Table:
    present = after if after is not None else before
    assert present is not None  # a change has at least one side
    count = present.num_rows
    no_image = pa.nulls(count, _struct(present, compared).type)
    columns = changed if changed is not None else [None] * count
    return pa.table(
        {
            "change": pa.array([change] * count, pa.string()),
            **{name: present.column(name) for name in keys},
            "changed_columns": pa.array(columns, pa.list_(pa.string())),
            "before": no_image if before is None else _struct(before, compared),
            "after": no_image if after is None else _struct(after, compared),
        }
    )
