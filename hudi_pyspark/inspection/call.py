"""Calls of inspection tables, as Spark's options spell them."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.definition import COLUMNS
from hudi_pyspark.inspection.inspection import INSPECTION_TABLES, Inspection
from hudi_pyspark.inspection.statistics import partitions_schema
from hudi_pyspark.options.option import BOOLEAN, options_of
from hudi_pyspark.options.other_options import SPARK_OPTIONS
from hudi_pyspark.options.read_options import INSPECT, TableOptions
from hudi_pyspark.storage.options import CATALOG_PREFIX, is_storage_option
from hudi_pyspark.wording import did_you_mean

# The option `path` is the path of the table, so the argument `path` has another name.
_OTHER_NAMES = {"file": "path"}


@dataclass(frozen=True, slots=True)
class InspectionCall:
    """A checked call of an inspection table; small and picklable."""

    name: str
    arguments: tuple[tuple[str, str | bool | int], ...]

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "InspectionCall":
        """Parse the options ``inspect`` and ``inspect.<argument>``, as Spark passes them.

        Raises:
            InvalidOptionError: there is no such table or argument, a value does not fit, an
                argument is missing, or another option of a read is given.
        """
        texts = {key.lower(): value for key, value in options.items()}
        name = texts.pop(INSPECT).strip().lower()
        if name not in INSPECTION_TABLES:
            hint = did_you_mean(name, INSPECTION_TABLES, cutoff=0.4)
            raise InvalidOptionError(
                f"unknown inspection table {name!r}{hint} (known: {', '.join(INSPECTION_TABLES)})"
            )
        table_keys = {option.key for option in options_of(TableOptions).values()}
        signature = inspect.signature(INSPECTION_TABLES[name], eval_str=True)
        parameters = {n: p for n, p in signature.parameters.items() if n != "self"}
        arguments: dict[str, str | bool | int] = {}
        for key, text in texts.items():
            is_setting = is_storage_option(key) or key.startswith(CATALOG_PREFIX)
            if key in SPARK_OPTIONS or key in table_keys or is_setting:
                continue
            if not key.startswith(f"{INSPECT}."):
                raise InvalidOptionError(f"option {key} cannot be combined with {INSPECT}")
            argument = key.removeprefix(f"{INSPECT}.")
            parameter = parameters.get(_OTHER_NAMES.get(argument, argument))
            if parameter is None:
                accepted = ", ".join(f"{INSPECT}.{n}" for n in parameters) or "no argument"
                raise InvalidOptionError(
                    f"{name} has no argument {argument!r}; it accepts {accepted}"
                )
            arguments[parameter.name] = _parse_value(key, text, parameter.annotation)
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise InvalidOptionError(f"{name} needs the option {INSPECT}.{missing[0]}")
        return cls(name, tuple(arguments.items()))

    def schema(self, inspection: Inspection) -> pa.Schema:
        """Return the columns of the table; ``log_records`` runs the call to know them."""
        if self.name == "log_records":
            return self.run(inspection).schema
        if self.name == "partitions":  # with the types of the partition columns
            return partitions_schema(inspection._view)
        return COLUMNS[self.name]

    def run(self, inspection: Inspection) -> pa.Table:
        """Make the table.

        Raises:
            HudiError: as the method of `Inspection` with this name.
        """
        return INSPECTION_TABLES[self.name](inspection, **dict(self.arguments))


def _parse_value(key: str, text: str, kind: object) -> str | bool | int:
    """Convert the text of an option to the annotated type of an argument."""
    if kind is bool:
        return BOOLEAN.parse(key, text)
    if kind is int:
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit()):
            raise InvalidOptionError(f"{key} is {text!r}; give a whole number")
        return int(digits)
    return text
