"""Rows as a stream for engines that are not written in Python, e.g. DuckDB."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from hudi_pyspark.errors import HudiError

# Raises its argument. The codec for which it was written does so for errors of encoding.
_raise: Callable[[BaseException], Any] = codecs.strict_errors  # type: ignore[assignment]


def engine_stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return the batches as a reader whose expected errors take one line in an engine's message.

    pyarrow writes the traceback of an exception, and those of its causes, into the message that
    engines show. Only functions in C raise exceptions without one. A defect keeps its traceback.

    Args:
        schema: of the batches.
        batches: the rows; iterating raises HudiError or KeyboardInterrupt.
    """
    expected: list[BaseException] = []

    def until_error() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (HudiError, KeyboardInterrupt) as error:
            error.__cause__ = None  # hides the context as well
            expected.append(error.with_traceback(None))

    return pa.RecordBatchReader.from_batches(schema, chain(until_error(), map(_raise, expected)))
