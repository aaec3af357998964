"""Table-valued functions of SQL, as Python UDTFs.

Spark runs a function in one task: they are for tables about a table, and for changes of a few file
slices. Its process imports this module by name, so that a zip of the package is enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

from hudi_pyspark.errors import InvalidOptionError, UnsupportedQueryError, UnsupportedTypeError
from hudi_pyspark.hudi_table import HudiTable
from hudi_pyspark.spark.schema import spark_schema

_MAX_SLICES = 100
_OURS = "_hudi_pyspark_functions"
# The columns of a function, and what reads its rows.
_Answer: TypeAlias = tuple[pa.Schema, Callable[[], pa.Table]]


def table_changes(path: str, form: str, begin: str, end: str | None = None) -> _Answer:
    """Return the rows that a range of commits wrote, or what they changed.

    Args:
        path: base path of the table.
        form: ``latest_state`` for rows, ``cdc`` for changes.
        begin: instant, exclusive.
        end: instant, inclusive; the latest commit by default.

    Raises:
        InvalidOptionError, InvalidInstantError: an argument is none of these.
        HudiError: the range cannot be read; UnsupportedQueryError, when rows are read, if it has
            more file slices than one task should read.
    """
    if form not in ("latest_state", "cdc"):
        raise InvalidOptionError(
            f"hudi_table_changes does not know {form!r}; give 'latest_state' or 'cdc'"
        )
    options = {"query_type": "incremental", "begin": begin, "end": end, "cdc": form == "cdc"}
    given = {name: value for name, value in options.items() if value is not None}
    scan = HudiTable(path).scan_with(given)

    def read() -> pa.Table:
        slices = len(scan.plan())
        if slices > _MAX_SLICES:
            raise UnsupportedQueryError(
                f"hudi_table_changes would read {slices} file slices in one task; it reads at most "
                f"{_MAX_SLICES}. Shorten the range, or make a view that Spark distributes: CREATE "
                "TEMPORARY VIEW changes USING `hudi-py` OPTIONS (path '…', query_type "
                f"'incremental', begin '{begin}'{', cdc true' if form == 'cdc' else ''})"
            )
        return scan.to_arrow()

    return scan.schema, read


def inspect_table(path: str, name: str, *arguments: str) -> _Answer:
    """Return a table about the table, with arguments such as ``archived=true``.

    Raises:
        InvalidOptionError: there is no such table, or it lacks an argument.
        HudiError: the table cannot be opened.
    """
    from hudi_pyspark.inspection import InspectionCall  # noqa: PLC0415  (rarely needed)

    given = [argument.partition("=") for argument in arguments]
    call = InspectionCall.parse(
        {"inspect": name, **{f"inspect.{key.strip()}": value.strip() for key, _, value in given}}
    )
    inspection = HudiTable(path).inspect
    return call.schema(inspection), partial(call.run, inspection)


def metadata_records(path: str) -> _Answer:
    """Return the records of the metadata table."""
    return inspect_table(path, "metadata_records")


# By name, with the arguments for messages.
_FUNCTIONS: Final[dict[str, tuple[Callable[..., _Answer], str]]] = {
    "hudi_metadata": (metadata_records, "path"),
    "hudi_table_changes": (table_changes, "path, 'latest_state' or 'cdc', begin [, end]"),
    "hudi_inspect": (inspect_table, "path, table [, 'argument=value', …]"),
}


def _analyze(name: str, arguments: Sequence[AnalyzeArgument]) -> AnalyzeResult:
    """Return the columns of a function for its arguments."""
    ask, usage = _FUNCTIONS[name]
    texts = [argument.value for argument in arguments]
    try:
        signature(ask).bind(*texts)
        is_right = all(isinstance(text, str) for text in texts)
    except TypeError:
        is_right = False
    if not is_right:
        raise InvalidOptionError(f"{name} takes constant texts: {name}({usage})")
    schema, _ = ask(*texts)
    return AnalyzeResult(spark_schema(schema))


def _rows(name: str, arguments: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    _, read = _FUNCTIONS[name][0](*arguments)
    for batch in read().to_batches():
        try:
            columns = [[_plain(v, c.type) for v in c.to_pylist()] for c in batch.columns]
        except OverflowError as error:
            raise UnsupportedTypeError(
                f"{name}: a row has a date or time outside of the years 1 to 9999, which Python "
                "does not have, and functions of SQL return values of Python. Leave SQL's function "
                'out: spark.read.format("hudi-py") returns such rows'
            ) from error
        yield from zip(*columns, strict=True)


def _plain(value: Any, data_type: pa.DataType) -> Any:  # noqa: ANN401
    """Return a value as Spark takes it: maps as dicts, at any depth."""
    if value is None or not pa.types.is_nested(data_type):
        return value
    if pa.types.is_map(data_type):
        return {key: _plain(item, data_type.item_type) for key, item in value}
    if pa.types.is_struct(data_type):
        return {field.name: _plain(value[field.name], field.type) for field in data_type}
    return [_plain(item, data_type.value_type) for item in value]


def _udtf(name: str) -> Any:  # noqa: ANN401  (a class that Spark pickles by value)
    class Function:
        @staticmethod
        def analyze(*arguments: AnalyzeArgument) -> AnalyzeResult:
            return _analyze(name, arguments)

        def eval(self, *arguments: str) -> Iterator[tuple[Any, ...]]:
            yield from _rows(name, arguments)

    Function.__module__ = "__main__"
    return sf.udtf(Function)


def register_functions(spark: SparkSession) -> None:
    """Register the functions that the session does not have; see `hudi_pyspark`."""
    ours: frozenset[str] = getattr(spark, _OURS, frozenset())
    for name in _FUNCTIONS:
        if name not in ours and spark.catalog.functionExists(name):
            message = f"the session has a function {name}, which stays as it is"
            warnings.warn(message, UserWarning, stacklevel=3)
            continue
        spark.udtf.register(name, _udtf(name))
        ours |= {name}
    setattr(spark, _OURS, ours)
