"""A table about the table, asked for by name: options or words, as text, to a call."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.inspection.columns import COLUMN_STATISTICS
from hudi_pyspark.inspection.commits import COMMIT_FILES, COMMITS
from hudi_pyspark.inspection.definition import PROPERTIES, SCHEMA_HISTORY
from hudi_pyspark.inspection.files import FILE_SLICES, FILES
from hudi_pyspark.inspection.history import HISTORY
from hudi_pyspark.inspection.inspection import Inspection
from hudi_pyspark.inspection.logs import LOG_BLOCKS
from hudi_pyspark.inspection.metadata import METADATA_RECORDS
from hudi_pyspark.inspection.partitions import partitions_schema
from hudi_pyspark.inspection.services import (
    CLEANS,
    CLUSTERING,
    COMPACTIONS,
    ROLLBACKS,
    SAVEPOINTS,
)
from hudi_pyspark.inspection.statistics import STATISTICS
from hudi_pyspark.inspection.timeline import TIMELINE
from hudi_pyspark.query.option_table import INSPECT
from hudi_pyspark.query.other_options import SPARK_OPTIONS
from hudi_pyspark.storage_options import is_storage_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from hudi_pyspark.table.view import TableView

_SCHEMAS = {
    "timeline": TIMELINE,
    "commits": COMMITS,
    "commit_files": COMMIT_FILES,
    "file_slices": FILE_SLICES,
    "files": FILES,
    "history": HISTORY,
    "log_blocks": LOG_BLOCKS,
    "compactions": COMPACTIONS,
    "clustering": CLUSTERING,
    "cleans": CLEANS,
    "rollbacks": ROLLBACKS,
    "savepoints": SAVEPOINTS,
    "column_statistics": COLUMN_STATISTICS,
    "metadata_records": METADATA_RECORDS,
    "statistics": STATISTICS,
    "properties": PROPERTIES,
    "schema_history": SCHEMA_HISTORY,
}
# A user of Spark has one path already, that of the table.
_OTHER_NAMES = {"file": "path"}


def inspection_names() -> tuple[str, ...]:
    """Names of all tables about a table, in the order in which they are documented."""
    return tuple(name for name in vars(Inspection) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class InspectionCall:
    """A function of `Inspection` and its arguments, checked; small and picklable."""

    name: str
    arguments: tuple[tuple[str, str | bool | int], ...]

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> InspectionCall:
        """Of options as Spark hands them over: ``inspect`` and ``inspect.<argument>``.

        Raises:
            InvalidOptionError: no such table, an argument that it does not take or lacks, a value
                that the argument cannot have, or an option of another kind.
        """
        given = {key.lower(): value for key, value in options.items()}
        name = given.pop(INSPECT).strip().lower()
        if name not in inspection_names():
            raise InvalidOptionError(
                f"{INSPECT} is {name!r}{_nearest(name, inspection_names())} (known: "
                f"{', '.join(inspection_names())})"
            )
        parameters = inspect.signature(getattr(Inspection, name)).parameters
        known = {n: p for n, p in parameters.items() if n != "self"}
        arguments: dict[str, str | bool | int] = {}
        for key, text in given.items():
            if key in SPARK_OPTIONS or is_storage_option(key):
                continue
            if not key.startswith(f"{INSPECT}."):
                raise InvalidOptionError(f"option {key} has no meaning together with {INSPECT}")
            argument = key.removeprefix(f"{INSPECT}.")
            parameter = known.get(_OTHER_NAMES.get(argument, argument))
            if parameter is None:
                takes = ", ".join(f"{INSPECT}.{n}" for n in known) or "no argument"
                raise InvalidOptionError(f"{name} has no argument {argument!r}; it takes {takes}")
            arguments[parameter.name] = _value(key, text, str(parameter.annotation))
        missing = [n for n, p in known.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise InvalidOptionError(f"{name} needs the option {INSPECT}.{missing[0]}")
        return cls(name, tuple(arguments.items()))

    def schema(self, view: TableView) -> pa.Schema:
        """Columns of the table; only for records of log files anything is read for it."""
        if self.name in _SCHEMAS:
            return _SCHEMAS[self.name]
        if self.name == "partitions":
            return partitions_schema(view)
        return self.run(Inspection(view)).schema

    def run(self, inspection: Inspection) -> pa.Table:
        """The table."""
        table: pa.Table = getattr(inspection, self.name)(**dict(self.arguments))
        return table


def _value(key: str, text: str, annotation: str) -> str | bool | int:
    """An option's text as the argument's type, which is told as in the source."""
    word = text.strip().lower()
    if annotation == "bool":
        if word not in ("true", "false"):
            raise InvalidOptionError(f"{key} is {text!r}; give true or false")
        return word == "true"
    if annotation == "int":
        if not (word.isascii() and word.isdigit()):
            raise InvalidOptionError(f"{key} is {text!r}; give a whole number")
        return int(word)
    return text


def _nearest(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"; did you mean {near[0]}?" if near else ", which is no table about a table"
