"""Tables that functions of rows make: their columns, and the types of these."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Generic, ParamSpec, TypeAlias

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


class TableFunction(Generic[_P]):
    """A function that makes rows; calls return them as a table with its schema."""

    def __init__(self, make_rows: Callable[_P, Rows], schema: pa.Schema) -> None:
        self._make_rows = make_rows
        self.schema = schema

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> pa.Table:
        return table_of(self._make_rows(*args, **kwargs), self.schema)


def with_columns(columns: str) -> Callable[[Callable[_P, Rows]], TableFunction[_P]]:
    """Make a function of rows one of tables; see `schema_of`."""
    return lambda make_rows: TableFunction(make_rows, schema_of(columns))
