"""Record keys that a filter admits: rows with others are left out before records are merged."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.filter.predicate import Comparison, IsIn, Operator, conjuncts
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.table.config import TableConfig

# Key generators that make the key from the text of its fields. A user's own may do anything.
_KEYS_OF_FIELDS = frozenset(
    {"SIMPLE", "COMPLEX", "TIMESTAMP", "CUSTOM", "NON_PARTITION", "GLOBAL_DELETE"}
)
_MOST_KEYS = 10_000


def wanted_record_keys(
    predicate: Predicate | None, config: TableConfig, schema: pa.Schema
) -> tuple[str, ...] | None:
    """Return the only record keys that rows may have for which a filter is true; None for any."""
    # All records of one row share their key, and so the fields that the key is made from: records
    # of other keys never change the result of the merge.
    parts = conjuncts(predicate)
    direct = _listed(parts, RECORD_KEY_COLUMN)
    if direct is not None:
        return tuple(str(value) for value in direct)
    fields = config.record_key_fields
    if not fields or config.key_generator not in _KEYS_OF_FIELDS:
        return None
    texts = [_listed_texts(parts, name, schema) for name in fields]
    known = [text for text in texts if text is not None]
    if len(known) < len(fields) or prod(map(len, known)) > _MOST_KEYS:
        return None
    named = [
        [f"{name}:{text or '__empty__'}" for text in values]
        for name, values in zip(fields, known, strict=True)
    ]
    keys = [",".join(combined) for combined in product(*named)]
    # One field alone: generators differ, also by release, in whether they put its name before it.
    return tuple(dict.fromkeys([*keys, *known[0]] if len(fields) == 1 else keys))


def keys_array(keys: Sequence[str] | None) -> pa.Array | None:
    """Return the same keys for Arrow; None for any."""
    return pa.array(keys, pa.string()) if keys is not None else None


def _listed_texts(parts: Sequence[Predicate], name: str, schema: pa.Schema) -> list[str] | None:
    """Return the values that a filter lists for a column, as text; None for any."""
    kind = schema.field(name).type if name in schema.names else pa.null()
    if not (pa.types.is_string(kind) or pa.types.is_integer(kind)):
        return None
    values = _listed(parts, name)
    if values is None or not all(isinstance(value, str | int) for value in values):
        return None
    return [str(value) for value in values]


def _listed(parts: Sequence[Predicate], column: str) -> list[object] | None:
    """Return the shortest list of values that a part admits for a column; None without a list."""
    lists = [values for part in parts if (values := _values(part, column)) is not None]
    return min(lists, key=len, default=None)


def _values(part: Predicate, column: str) -> list[object] | None:
    if isinstance(part, IsIn) and part.column == column and not part.is_negated:
        values: list[object] = part.values.to_pylist()
        return values
    if isinstance(part, Comparison) and part.column == column and part.operator is Operator.EQUAL:
        return [part.value.as_py()]
    return None
