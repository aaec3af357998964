"""Servers of tests on loopback, which end with the block that runs them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socketserver import BaseServer

    Server = TypeVar("Server", bound=BaseServer)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server in a thread until the block ends."""
    # Handlers send a header and its body apart. By Nagle's algorithm the body would wait until the
    # client acknowledges the header, which it does up to 40 ms later.
    handler: Any = server.RequestHandlerClass
    handler.disable_nagle_algorithm = True
    with server:
        # It looks this often, in seconds, whether it shall end. With the default, half a second,
        # tests would wait for the ends of their servers longer than they read.
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
