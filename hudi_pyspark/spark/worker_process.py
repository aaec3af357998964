"""The Python processes in which Spark plans and reads, as this package would have them."""

import gc
import os
import socket
import sys
from contextlib import suppress
from stat import S_ISSOCK

_FIRST_FILES = 100  # that a process opens: the connection with Spark is one of them
_kept_modules = 0  # number of modules when garbage collection was last kept from them


def send_at_once() -> None:
    """Have no message between Spark and this process wait for the acknowledgement of another.

    Both send small messages in two parts, and keep the second back until the first is acknowledged
    (Nagle's algorithm), with which Linux waits for an answer, 0.04 s long: most of the time of a
    small task. So what has come is acknowledged now, and what this process sends does not wait.
    This does nothing on other systems, nor where Spark uses Unix domain sockets, which do not wait.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    # Spark does not say which one is its connection.
    for number in range(_FIRST_FILES):
        with suppress(OSError):  # nothing is open there, or another kind of socket
            if S_ISSOCK(os.fstat(number).st_mode):
                with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def keep_modules() -> None:
    """Leave the modules that are loaded out of garbage collections.

    Spark collects garbage after each plan and each task, and the next one waits for it: 0.04 s for
    the modules of this package and of pyarrow, which never become garbage. Other objects that are
    there stay out of them, too, so this happens only where modules have come since the last time.
    """
    global _kept_modules  # noqa: PLW0603  (of the process)
    if len(sys.modules) > _kept_modules:
        gc.freeze()
        _kept_modules = len(sys.modules)
