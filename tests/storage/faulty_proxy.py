"""A proxy in front of an HTTP server that fails as networks and busy stores do."""

from __future__ import annotations

import gzip
import http.client
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import running

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    Faults = Callable[[int, "Request"], str]  # from the ordinal of the request

_OF_CONNECTION = (
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "transfer-encoding",
)
NONE = ""
BODIES = {"empty": b"", "html": b"<html><body>Please log in</body></html>"}  # without an error
CHANGES: Mapping[str, Callable[[bytes], bytes]] = {
    "short": lambda body: body[: len(body) // 2],  # and says so
    "zeros": lambda body: bytes(len(body)),
    "tail": lambda body: body[: len(body) // 2].ljust(len(body), b"\0"),
    "gzip": lambda body: gzip.compress(body).ljust(len(body), b"\0")[: len(body)],
}
FAULTS = ("503", "429", "500", "reset", "cut", "delay")
LONG = 1.5  # seconds of a delay: longer than the time-out that tests set


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a reader."""

    kind: str  # HEAD, GET or LIST
    path: str  # key, or prefix of a listing, decoded
    is_next_page: bool  # of a listing

    @classmethod
    def of(cls, method: str, target: str) -> Request:
        """Take a request apart."""
        url = urlsplit(target)
        query = parse_qs(url.query, keep_blank_values=True)
        if query.keys() & {"list-type", "comp"} or url.path.endswith("/o"):  # S3, Azure, GCS
            is_next = bool(query.keys() & {"continuation-token", "marker", "pageToken"})
            return cls("LIST", query.get("prefix", [""])[0], is_next)
        return cls(method, unquote(url.path), is_next_page=False)


def always(fault: str, *, only_files: bool = False) -> Faults:
    """Every request fails, or every one for the content of a file."""
    return lambda _, request: fault if request.kind == "GET" or not only_files else NONE


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

    def next_fault(self, request: Request) -> str:
        with self.lock:
            self.requests += 1
            fault = self.faults(self.requests, request)
            if fault:
                self.failed.append(fault)
            return fault


def fail_between(target: str, faults: Faults) -> AbstractContextManager[FaultyProxy]:
    """Run a proxy until the block ends."""
    return running(FaultyProxy(target, faults))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        request = Request.of(self.command, self.path)
        fault = self.server.next_fault(request)
        if fault.isdigit():
            self._send(int(fault), b"")
        elif fault in BODIES:
            self._send(200 if request.kind == "LIST" else 206, BODIES[fault])
        elif fault == "reset":
            linger = struct.pack("ii", 1, 0)  # so that closing resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._end()
        else:
            if fault == "delay":
                time.sleep(LONG)
            self._pass_on(fault if request.kind == "GET" or fault == "cut" else NONE)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _pass_on(self, fault: str) -> None:
        with closing(http.client.HTTPConnection(self.server.target)) as connection:
            # The signature holds for the name under which the client knows the server: its checks
            # are those of the target.
            connection.request(self.command, self.path, headers=dict(self.headers))
            answer = connection.getresponse()
            body = answer.read()
        headers = {n: v for n, v in answer.headers.items() if n.lower() not in _OF_CONNECTION}
        if self.command == "HEAD":
            headers["Content-Length"] = answer.headers.get("Content-Length", "0")
        elif fault == "cut" and body:
            headers["Content-Length"] = str(len(body))
            self._send(answer.status, body[: len(body) // 2], headers)
            self._end()
            return
        self._send(answer.status, CHANGES.get(fault, bytes)(body), headers)

    def _end(self) -> None:
        self.close_connection = True
        for part in (self.wfile, self.rfile, self.connection):  # the last one closes the socket
            part.close()
