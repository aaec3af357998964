"""A proxy in front of an HTTP server that fails as networks and busy stores do."""

from __future__ import annotations

import http.client
import random
import socket
import struct
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

from tests.loopback import running

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    # Takes the ordinal of the request and whether it is a GET of a file; returns the fault.
    Faults = Callable[[int, bool], str]

NONE = ""
FAULTS = ("503", "429", "500", "reset", "cut", "delay")
LONG = 1.5  # seconds of a delay: longer than the time-out that tests set


def always(fault: str, *, only_files: bool = False) -> Faults:
    """Every request fails, or every one for the content of a file."""
    return lambda _, is_file: fault if is_file or not only_files else NONE


def sometimes(rate: float, seed: int) -> Faults:
    """Some requests fail, in a way of their own."""
    chance = random.Random(seed)
    lock = threading.Lock()

    def choose(*_: object) -> str:
        with lock:
            return chance.choice(FAULTS) if chance.random() < rate else NONE

    return choose


class FaultyProxy(ThreadingHTTPServer):
    """Passes requests on to one server, unless it fails them."""

    daemon_threads = True

    def __init__(self, target: str, faults: Faults) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target.removeprefix("http://")
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        self.faults = faults
        self.requests = 0
        self.failed: list[str] = []
        self.lock = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients go away in the middle: nothing on standard error

    def next_fault(self, *, is_file: bool) -> str:
        with self.lock:
            self.requests += 1
            fault = self.faults(self.requests, is_file)
            if fault:
                self.failed.append(fault)
            return fault


def fail_between(target: str, faults: Faults) -> AbstractContextManager[FaultyProxy]:
    """Run a proxy until the block ends."""
    return running(FaultyProxy(target, faults))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy
    passed_on: ClassVar = ("Content-Type", "Content-Range", "Last-Modified", "ETag")

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        is_file = self.command == "GET" and "list-type" not in self.path
        fault = self.server.next_fault(is_file=is_file)
        if fault.isdigit():
            self.send_response(int(fault))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)  # so that closing resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._end()
            return
        if fault == "delay":
            time.sleep(LONG)
        if fault == "empty" and "list-type" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._pass_on(is_cut=fault == "cut", is_short=fault == "short")

    def _pass_on(self, *, is_cut: bool, is_short: bool) -> None:
        with closing(http.client.HTTPConnection(self.server.target)) as connection:
            # The signature holds for the name under which the client knows the server: its checks
            # are those of the target.
            connection.request(self.command, self.path, headers=dict(self.headers))
            answer = connection.getresponse()
            body = answer.read()
        if is_short and self.command == "GET":  # and says so
            body = body[: len(body) // 2]
            answer.headers.replace_header("Content-Length", str(len(body)))
        self.send_response(answer.status)
        for name in self.passed_on:
            if answer.headers.get(name):
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(body))))
        self.end_headers()
        if is_cut and body:
            self.wfile.write(body[: len(body) // 2])
            self._end()
            return
        self.wfile.write(body)

    def _end(self) -> None:
        self.close_connection = True
        for part in (self.wfile, self.rfile, self.connection):  # the last one closes the socket
            part.close()
