"""The record keys that a filter asks for, as far as an index has to know them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from numbers import Integral

import pyarrow as pa

from hudi_pyspark.cached_property import cached_property
from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.filter.literals import is_in
from hudi_pyspark.filter.predicate import Comparison, IsIn, Operator, Predicate, conjuncts
from hudi_pyspark.format.bucket_keys import EMPTY_PART, Rule, Values, values_in_key
from hudi_pyspark.format.nested_types import may_be_uuid_bytes
from hudi_pyspark.table.config import KEY_GENERATORS, TableConfig
from hudi_pyspark.table.meta_columns import RECORD_KEY_COLUMN

_MOST_KEYS = 10_000  # that are looked up
# Of a single field, these make keys that may begin with its name: releases and writers differ.
_NAMES_FIELD = ("COMPLEX", "GLOBAL_DELETE")


@dataclass(frozen=True)
class RequestedKeys:
    """The only record keys that can pass a filter, whole or by the values of some key fields."""

    record_keys: Sequence[str] | None = None  # None if the filter is on key fields, or on none
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of key fields with a list
    key_fields: Sequence[str] = ()
    names_field: bool = False  # whether keys of a single field may begin with its name
    are_stored: bool = True  # whether the files contain record keys

    @classmethod
    def of(
        cls, predicate: Predicate | None, config: TableConfig, schema: pa.Schema
    ) -> RequestedKeys:
        """Return what a filter asks for: any key if it restricts no field that can be looked up.

        Args:
            predicate: the filter; None matches every row.
            config: of the table. Key fields that the schema spells otherwise are not looked up.
            schema: of the table.
        """
        parts = conjuncts(predicate)
        fields = config.record_key_fields
        are_stored = config.populate_meta_fields
        record_keys = _listed_values(parts, RECORD_KEY_COLUMN)
        if record_keys is not None:
            keys = [str(key) for key in record_keys]
            return cls(keys, key_fields=fields, are_stored=are_stored)
        if not fields or config.key_generator not in KEY_GENERATORS.values():
            return ANY_KEY
        found = {name: listed_texts(parts, name, schema) for name in fields}
        texts = {name: values for name, values in found.items() if values is not None}
        unlisted = [name for name in fields if name not in texts]
        # The text of another field may have commas, which change what is hashed by some rules.
        are_numbers = all(
            name in schema.names and pa.types.is_integer(schema.field(name).type)
            for name in unlisted
        )
        if not texts or not are_numbers or prod(map(len, texts.values())) > _MOST_KEYS:
            return ANY_KEY
        names_field = config.key_generator in _NAMES_FIELD
        return cls(None, texts, fields, names_field=names_field, are_stored=are_stored)

    @property
    def are_any(self) -> bool:
        """Whether the filter restricts no keys."""
        return self.record_keys is None and not self.texts

    @property
    def key_texts(self) -> tuple[str, ...]:
        """The key fields of whose values the keys have the texts; () if the filter names keys.

        Files show whether their keys have these texts.
        """
        return tuple(self.key_fields) if self.record_keys is None else ()

    @cached_property
    def whole_keys(self) -> tuple[str, ...] | None:
        """All texts that the keys may have; None if the filter does not list each key field.

        Of a single field, generators differ, even between releases, in whether its name comes
        first. None also if the files do not contain keys, because delete blocks encode them
        differently.
        """
        if not self.are_stored:
            return None
        if self.record_keys is not None:
            return tuple(self.record_keys)
        if not self.texts or len(self.texts) < len(self.key_fields):
            return None
        return tuple(dict.fromkeys(self._keys(names_field=True)))

    def values(
        self, hash_fields: Sequence[str], rule: Rule, *, names_field: bool
    ) -> list[Values] | None:
        """Return what a writer hashes of these keys; None if the filter does not say.

        Args:
            hash_fields: the fields that are hashed.
            rule: by which their values are taken from a key.
            names_field: whether keys of a single field may begin with its name, whatever the
                table's key generator.
        """
        keys = self.record_keys
        if keys is None:
            if not self.texts.keys() >= set(hash_fields):
                return None
            keys = self._keys(names_field=names_field or self.names_field)
        rows = (values_in_key(key, hash_fields, rule) for key in keys)
        return list(dict.fromkeys(row for row in rows if row is not None))

    def _keys(self, *, names_field: bool) -> list[str]:
        """Return record keys; of a field whose values are not listed they have some number."""
        named = [
            [f"{name}:{text or EMPTY_PART}" for text in self.texts.get(name, ["0"])]
            for name in self.key_fields
        ]
        keys = [",".join(parts) for parts in product(*named)]
        if len(self.key_fields) > 1:
            return keys
        return [*(keys if names_field else ()), *self.texts[self.key_fields[0]]]


ANY_KEY = RequestedKeys()
"""Of filters that restrict no keys."""


def has_record_key(keys: str | int | Iterable[str | int], config: TableConfig) -> IsIn:
    """Return the condition that a row has one of some record keys.

    Args:
        keys: one key or several, as in ``_hoodie_record_key``. If the table has a single key field,
            its value suffices.
        config: of the table.

    Raises:
        UnsupportedQueryError: the table's files do not contain record keys.
        InvalidOptionError: there is no key, or a key is neither text nor a whole number.
    """
    if not config.populate_meta_fields:
        raise UnsupportedQueryError(
            f"table {config.name!r} has no column {RECORD_KEY_COLUMN} "
            "(hoodie.populate.meta.fields=false): filter on its key fields instead"
        )
    several: Iterable[object] = [keys]
    if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)):
        several = keys
    texts = [_key_text(key) for key in several]
    if not texts:
        raise InvalidOptionError("there is no record key to look up", advice="Give one or several")
    fields = config.record_key_fields
    if len(fields) == 1:  # some releases put the field's name before the value
        texts += [f"{fields[0]}:{text}" for text in texts]
    return is_in(pa.field(RECORD_KEY_COLUMN, pa.string()), texts)


def _key_text(key: object) -> str:
    # Key generators write other types as Java does: true, 1.0E10, days since 1970.
    if isinstance(key, bool) or not isinstance(key, (str, Integral)):
        raise InvalidOptionError(
            f"the record key {key!r} is of type {type(key).__name__}: give text, as in "
            f"{RECORD_KEY_COLUMN}, or a whole number"
        )
    return str(key)


def listed_texts(parts: Sequence[Predicate], name: str, schema: pa.Schema) -> list[str] | None:
    """Return the values that a filter lists for a column of a key, as text; None if any value."""
    column = schema.field(name) if name in schema.names else pa.field(name, pa.null())
    has_one_text = pa.types.is_string(column.type) or pa.types.is_integer(column.type)
    if not has_one_text or may_be_uuid_bytes(column):
        return None
    values = _listed_values(parts, name)
    if values is None or not all(isinstance(value, str | int) for value in values):
        return None
    return [str(value) for value in values]


def _listed_values(parts: Sequence[Predicate], column: str) -> list[object] | None:
    """Return the shortest list of values that a part allows for a column; None without a list."""
    lists: list[list[object]] = []
    for part in parts:
        match part:
            case IsIn(name, values, is_negated=False) if name == column:
                lists.append(values.to_pylist())
            case Comparison(name, Operator.EQUAL, value) if name == column:
                lists.append([value.as_py()])
    return min(lists, key=len, default=None)
