"""The tables about a table: the method and the columns of each, by name."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import pyarrow as pa

from hudi_pyspark.table.view import TableView

Columns: TypeAlias = pa.Schema | Callable[[TableView], pa.Schema] | None

_Method = TypeVar("_Method", bound="Callable[..., pa.Table]")


INSPECTION_TABLES: dict[str, tuple[Callable[..., pa.Table], Columns]] = {}
"""The methods of `Inspection`, in its order, which is that of the documentation, and columns."""


def inspection_table(columns: Columns) -> Callable[[_Method], _Method]:
    """Register a method of `Inspection` with the columns of its table.

    These are a schema, or a function of the table where columns depend on its properties; None
    where they depend on the content of files.
    """

    def register(method: _Method) -> _Method:
        INSPECTION_TABLES[method.__name__] = (method, columns)
        return method

    return register
