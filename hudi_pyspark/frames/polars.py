"""A scan as a LazyFrame of polars (extra ``polars``)."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from hudi_pyspark.columns.arrays import any_of, first_rows
from hudi_pyspark.frames.expression import Call, Expression, Field, Literal, if_understood, pruning
from hudi_pyspark.frames.merged_files import Snapshot, is_exact_type, merged_files

_ROW = "row number"  # in a base file
# How polars calls each function of pyarrow. An expression is such a call if polars finds it equal.
_FUNCTIONS: dict[str, Callable[..., pl.Expr]] = {
    "equal": pl.Expr.__eq__,
    "not_equal": pl.Expr.__ne__,
    "less": pl.Expr.__lt__,
    "less_equal": pl.Expr.__le__,
    "greater": pl.Expr.__gt__,
    "greater_equal": pl.Expr.__ge__,
    "and": pl.Expr.__and__,
    "or": pl.Expr.__or__,
    "invert": pl.Expr.__invert__,
    "is_null": pl.Expr.is_null,
    "is_valid": pl.Expr.is_not_null,
    "is_in": pl.Expr.is_in,
    "between": pl.Expr.is_between,
    "starts_with": lambda texts, prefix: texts.str.starts_with(prefix),
}


def lazy_frame(scan: Snapshot, *, merge_first: bool) -> pl.LazyFrame:
    """Return a frame whose queries read only the columns, rows and file slices that they need.

    Args:
        scan: what to read; its text is its name in polars' plans.
        merge_first: whether to merge all file slices now, and let polars read the base files
            itself, unless it would read other values; see `merged_files`.

    Raises:
        HudiError: the table cannot be read.
    """
    frame = _frame_of_files(scan) if merge_first else None
    if frame is not None:
        return frame

    def read(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        _batch_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        narrowed = scan if columns is None else scan.select(columns)
        if predicate is not None and rows is None:  # rows are counted before they are filtered
            implied = if_understood(lambda: pruning(parse_expression(predicate), scan.schema))
            narrowed = narrowed if implied is None else narrowed._where(implied)
        for batch in first_rows(narrowed.to_batches(None if rows is None else 1), rows):
            frame = pl.DataFrame(batch)
            yield frame if predicate is None else frame.filter(predicate)

    empty = pl.DataFrame(scan.schema.empty_table())
    return register_io_source(
        read, schema=empty.schema, is_pure=True, explain_name="Hudi", explain_detail=str(scan)
    )


def _frame_of_files(scan: Snapshot) -> pl.LazyFrame | None:
    """Merge a scan, and return a frame of its base files and log records; see `merged_files`."""
    expected = pl.DataFrame(scan.schema.empty_table()).schema

    def reads_alike(path: str) -> bool:
        file_schema = pl.read_parquet_schema(path)
        return all(file_schema[name] == data_type for name, data_type in expected.items())

    is_alike = any_of(is_exact_type, pa.types.is_floating)
    merged = merged_files(scan, is_alike, reads_alike, reserved=(_ROW,))
    if merged is None:
        return None
    # The bounds of floating-point columns ignore NaN.
    by_bounds = not any(map(pa.types.is_floating, scan.schema.types))
    scan_files: Callable[..., pl.LazyFrame] = partial(
        pl.scan_parquet, glob=False, hive_partitioning=False, use_statistics=by_bounds
    )
    frames = [pl.DataFrame(merged.records).lazy()]
    if merged.whole:
        frames.append(scan_files(merged.whole).select(scan.schema.names))
    for path, dropped in merged.parts.items():
        rows = pl.LazyFrame({_ROW: np.flatnonzero(dropped)}, schema={_ROW: pl.get_index_type()})
        numbered = scan_files(path, row_index_name=_ROW).join(rows, on=_ROW, how="anti")
        frames.append(numbered.select(scan.schema.names))
    return pl.concat(frames)


def parse_expression(expression: pl.Expr) -> Expression:
    """Parse an expression of polars; an unknown function becomes a call without a name."""
    meta = expression.meta
    if meta.is_column():
        return Field((meta.output_name(),))
    if meta.is_literal():
        return Literal(pl.select(expression).to_series().to_arrow()[0])
    inputs = meta.pop()[::-1]  # the last one comes first
    function = next((n for n, f in _FUNCTIONS.items() if _is_call(expression, f, inputs)), "")
    arguments = [parse_expression(each) for each in inputs]
    options: dict[str, object] = {}
    match function, arguments:
        case "between", [column, low, high]:
            low, high = Call("greater_equal", [column, low]), Call("less_equal", [column, high])
            function = "and"
            arguments = [low, high]
        case "is_null", _:
            options = {"nan_is_null": False}
        case "is_in", [column, Literal(pa.ListScalar() as listed)]:
            arguments = [column]
            options = {"value_set": listed.values}
        case "starts_with", [column, Literal(prefix)]:
            arguments = [column]
            options = {"pattern": prefix.as_py(), "ignore_case": False}
    return Call(function, arguments, options)


def _is_call(expression: pl.Expr, function: Callable[..., pl.Expr], inputs: list[pl.Expr]) -> bool:
    try:
        return bool(expression.meta.eq(function(*inputs)))
    except TypeError:  # of another number of arguments
        return False
