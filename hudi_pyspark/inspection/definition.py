"""How an inspection table is made: a function of rows, and the names and types of its columns."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice
from typing import ParamSpec, TypeAlias

import pyarrow as pa

from hudi_pyspark.format.timeline.instant import Instant

InspectionRows: TypeAlias = Iterable[Mapping[str, object]]
_P = ParamSpec("_P")
_ROWS_AT_ONCE = 65_536
_TYPES: dict[str, pa.DataType] = {
    "": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("ms", "UTC"),
    "texts": pa.list_(pa.string()),
    "map": pa.map_(pa.string(), pa.string()),
}

COLUMNS: dict[str, pa.Schema] = {}
"""The columns of tables, by the names of the functions that make them.

Tables whose columns depend on the Hudi table are not among them.
"""


def schema_of(columns: str) -> pa.Schema:
    """Return a schema, given names with commas between, each followed by its type.

    The types are ``int``, ``float``, ``bool``, ``time``, ``texts`` (a list) and ``map``; no type
    means text.
    """
    specs = (column.strip().partition(" ") for column in columns.split(","))
    return pa.schema([(name, _TYPES[kind]) for name, _, kind in specs])


def table_of(rows: InspectionRows, schema: pa.Schema) -> pa.Table:
    """Make a table of rows: a missing value is null, and a value without a column is ignored.

    The rows are converted in parts, so that few of them are Python values at a time.
    """
    remaining_rows = iter(rows)
    tables = [schema.empty_table()]
    while part := list(islice(remaining_rows, _ROWS_AT_ONCE)):
        tables.append(pa.Table.from_pylist(part, schema=schema))
    return pa.concat_tables(tables)


def with_columns(columns: str) -> Callable[[Callable[_P, InspectionRows]], Callable[_P, pa.Table]]:
    """Make a function of rows a function of a table, whose columns it registers in `COLUMNS`.

    Args:
        columns: names and types; see `schema_of`.
    """
    schema = schema_of(columns)

    def decorate(make_rows: Callable[_P, InspectionRows]) -> Callable[_P, pa.Table]:
        COLUMNS[make_rows.__name__] = schema

        @wraps(make_rows)
        def make_table(*args: _P.args, **kwargs: _P.kwargs) -> pa.Table:
            return table_of(make_rows(*args, **kwargs), schema)

        return make_table

    return decorate


def instant_row(instant: Instant) -> dict[str, object]:
    """Return the columns of an instant: its times, action and state."""
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": str(instant.action),
        "state": instant.state.name.lower(),
    }
