"""Tune the Python processes in which Spark plans and reads, and the errors that they send."""

import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from stat import S_ISSOCK

from hudi_pyspark.errors import HudiError

_FIRST_FILES = 100  # file descriptors of a process, among which is its connection with Spark
_IS_WORKER = "SPARK_PYTHON_RUNTIME"  # a variable that Spark sets in its Python workers
_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"  # see pyspark.util.handle_worker_exception
_frozen_modules = 0  # the number of modules when they were last kept out of garbage collections


def send_at_once() -> None:
    """Send messages between Spark and this process without waiting for acknowledgements.

    Both sides send small messages in two parts. They hold the second part back until the first is
    acknowledged (Nagle's algorithm), and Linux delays an acknowledgement by 0.04 s, in the hope to
    send it with an answer. That is most of the time of a small task. So this process acknowledges
    at once what it has received, and sends at once what it has to send.

    This does nothing on other systems, or if Spark uses Unix domain sockets, which do not wait.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    # Spark does not say which file descriptor is its connection.
    for number in range(_FIRST_FILES):
        with suppress(OSError):  # not open, or not a TCP socket
            if S_ISSOCK(os.fstat(number).st_mode):
                with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def keep_modules() -> None:
    """Keep loaded modules out of garbage collections.

    Spark collects garbage after each plan and each task, and the next one waits for it: 0.04 s for
    the modules of this package and of pyarrow, which never become garbage. Freezing keeps all other
    objects out of collections as well, so this freezes only if modules were loaded since last time.
    """
    global _frozen_modules  # noqa: PLW0603  (one number per process)
    if len(sys.modules) > _frozen_modules:
        gc.freeze()
        _frozen_modules = len(sys.modules)


@contextmanager
def only_message() -> Iterator[None]:
    """Hide the traceback of an error of this package in Spark's workers; the message remains.

    The messages say what was found, where, and what to do, and notebooks show the first line. A
    worker ends after an error, so the errors of other code keep their tracebacks.
    """
    try:
        yield
    except Exception as error:
        is_named = isinstance(error, HudiError) or isinstance(error.__cause__, HudiError)
        if is_named and _IS_WORKER in os.environ:
            os.environ[_HIDES_TRACEBACK] = "1"
        raise
