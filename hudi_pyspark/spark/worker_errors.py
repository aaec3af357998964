"""What Spark shows of an error that a Python worker raises."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hudi_pyspark.errors import HudiError

_IS_WORKER = "SPARK_PYTHON_RUNTIME"  # which Spark sets in its Python workers
_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"  # see pyspark.util.handle_worker_exception


@contextmanager
def only_message() -> Iterator[None]:
    """Let a worker of Spark send an error of this package without the traceback above its message.

    The messages say what was found, where, and what to do; notebooks show the first line. A worker
    ends after an error, so errors of other code keep their tracebacks.
    """
    try:
        yield
    except Exception as error:
        is_named = isinstance(error, HudiError) or isinstance(error.__cause__, HudiError)
        if is_named and _IS_WORKER in os.environ:
            os.environ[_HIDES_TRACEBACK] = "1"
        raise
