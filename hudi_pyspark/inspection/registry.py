"""The tables about a table: name, columns and arguments of each, registered by a decorator."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from hudi_pyspark.table.view import TableView

    Columns: TypeAlias = pa.Schema | Callable[[TableView], pa.Schema] | None

_Method = TypeVar("_Method", bound="Callable[..., pa.Table]")


@dataclass(frozen=True, slots=True)
class InspectionTable:
    """A table about a table, which a method of `Inspection` returns.

    Its name is the method's, its arguments are the method's parameters.
    """

    method: Callable[..., pa.Table]
    # A schema, or a function of the table where columns depend on its properties; None where they
    # depend on the content of files.
    columns: Columns

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the method by name."""
        _, *parameters = inspect.signature(self.method).parameters.values()  # without self
        return {parameter.name: parameter for parameter in parameters}


INSPECTION_TABLES: dict[str, InspectionTable] = {}
"""By name, in the order in which `Inspection` defines and the documentation lists them."""


def inspection_table(columns: Columns) -> Callable[[_Method], _Method]:
    """Register a method of `Inspection`."""

    def register(method: _Method) -> _Method:
        INSPECTION_TABLES[method.__name__] = InspectionTable(method, columns)
        return method

    return register
