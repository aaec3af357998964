"""Calls of the tables about a table, by the options of Spark."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.definition import COLUMNS
from hudi_pyspark.inspection.inspection import INSPECTION_TABLES, Inspection
from hudi_pyspark.inspection.statistics import partitions_schema
from hudi_pyspark.options.option import options_of
from hudi_pyspark.options.read_options import CATALOG_PREFIX, INSPECT, SPARK_OPTIONS, TableOptions
from hudi_pyspark.storage_options import is_storage_option

# The option `path` is already the path of the table.
_OTHER_NAMES = {"file": "path"}


@dataclass(frozen=True, slots=True)
class InspectionCall:
    """An inspection table and its arguments, checked; small and picklable."""

    name: str
    arguments: tuple[tuple[str, str | bool | int], ...]

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> InspectionCall:
        """Parse options as Spark passes them: ``inspect`` and ``inspect.<argument>``.

        Raises:
            InvalidOptionError: there is no such table, it lacks the argument, a value does not fit,
                or another option of a read is given.
        """
        given = {key.lower(): value for key, value in options.items()}
        name = given.pop(INSPECT).strip().lower()
        if name not in INSPECTION_TABLES:
            near = difflib.get_close_matches(name, INSPECTION_TABLES, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidOptionError(
                f"unknown inspection table {name!r}{hint} (known: {', '.join(INSPECTION_TABLES)})"
            )
        table_keys = {option.key for option in options_of(TableOptions).values()}
        signature = inspect.signature(INSPECTION_TABLES[name], eval_str=True)
        known = {n: p for n, p in signature.parameters.items() if n != "self"}
        arguments: dict[str, str | bool | int] = {}
        for key, text in given.items():
            is_setting = is_storage_option(key) or key.startswith(CATALOG_PREFIX)
            if key in SPARK_OPTIONS or key in table_keys or is_setting:
                continue
            if not key.startswith(f"{INSPECT}."):
                raise InvalidOptionError(f"option {key} cannot be combined with {INSPECT}")
            argument = key.removeprefix(f"{INSPECT}.")
            parameter = known.get(_OTHER_NAMES.get(argument, argument))
            if parameter is None:
                accepted = ", ".join(f"{INSPECT}.{n}" for n in known) or "no argument"
                raise InvalidOptionError(
                    f"{name} has no argument {argument!r}; it accepts {accepted}"
                )
            arguments[parameter.name] = _parse_value(key, text, parameter.annotation)
        missing = [n for n, p in known.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise InvalidOptionError(f"{name} needs the option {INSPECT}.{missing[0]}")
        return cls(name, tuple(arguments.items()))

    def schema(self, inspection: Inspection) -> pa.Schema:
        """Return the columns of the table; only ``log_records`` reads files for them."""
        if self.name == "log_records":
            return self.run(inspection).schema
        if self.name == "partitions":  # with the types of the partition columns
            return partitions_schema(inspection.view)
        return COLUMNS[self.name]

    def run(self, inspection: Inspection) -> pa.Table:
        return INSPECTION_TABLES[self.name](inspection, **dict(self.arguments))


def _parse_value(key: str, text: str, kind: object) -> str | bool | int:
    """Convert an option's text to the type of the argument, as its annotation names it."""
    word = text.strip().lower()
    if kind is bool:
        if word not in ("true", "false"):
            raise InvalidOptionError(f"{key} is {text!r}; give true or false")
        return word == "true"
    if kind is int:
        if not (word.isascii() and word.isdigit()):
            raise InvalidOptionError(f"{key} is {text!r}; give a whole number")
        return int(word)
    return text
