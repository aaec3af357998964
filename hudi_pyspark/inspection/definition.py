"""Tables that functions of rows make: their columns, and the types of these."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import ParamSpec, TypeAlias

import pyarrow as pa

Rows: TypeAlias = Iterable[Mapping[str, object]]
_P = ParamSpec("_P")
_ROWS_AT_ONCE = 65_536
_TYPES = {
    "": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("ms", "UTC"),
    "texts": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.string()),
}

COLUMNS: dict[str, pa.Schema] = {}
"""The columns of tables whose columns never vary, by the names of the functions that make them."""


def schema_of(columns: str) -> pa.Schema:
    """Return a schema, given names with a type behind each, with commas between; mostly text."""
    named = (column.strip().partition(" ") for column in columns.split(","))
    return pa.schema([(name, _TYPES[kind]) for name, _, kind in named])


def table_of(rows: Rows, schema: pa.Schema) -> pa.Table:
    """Return rows as a table: what a row lacks is null, and what the schema lacks is left out.

    Of very many rows only some are Python values at a time.
    """
    rest = iter(rows)
    parts = iter(lambda: list(islice(rest, _ROWS_AT_ONCE)), [])
    tables = [pa.Table.from_pylist(part, schema=schema) for part in parts]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def with_columns(columns: str) -> Callable[[Callable[_P, Rows]], Callable[_P, pa.Table]]:
    """Make a function of rows one of tables, and register its columns; see `schema_of`."""
    schema = schema_of(columns)

    def decorate(make_rows: Callable[_P, Rows]) -> Callable[_P, pa.Table]:
        COLUMNS[make_rows.__name__] = schema
        return lambda *args, **kwargs: table_of(make_rows(*args, **kwargs), schema)

    return decorate
