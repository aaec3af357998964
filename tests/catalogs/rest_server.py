"""Unity Catalog and Polaris as far as a reader asks them: answers by method and path."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.loopback import running

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    # Takes the body of the request; returns a status and an object.
    Answer = Callable[[dict[str, Any]], tuple[int, Any]]


class CatalogServer(ThreadingHTTPServer):
    """Answers requests that have the token, and remembers all."""

    daemon_threads = True

    def __init__(self, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.uri = f"http://127.0.0.1:{self.server_address[1]}"
        self.token = token
        self.answers: dict[str, Answer] = {}  # by "GET /path"
        self.open_to_all: set[str] = set()  # those that need no token
        self.asked: list[str] = []
        self.sent: list[str] = []  # headers and bodies, of which a redirect may carry secrets
        self.sends_on_to = ""  # another catalog, which all redirects name


def serve_catalog(token: str) -> AbstractContextManager[CatalogServer]:
    """Run a catalog until the block ends."""
    return running(CatalogServer(token))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CatalogServer

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length).decode()
        is_json = "json" in self.headers.get("Content-Type", "")
        body = json.loads(text) if is_json and text else dict(parse_qsl(text))
        key = f"{self.command} {self.path}"
        self.server.asked.append(key)
        self.server.sent.append(f"{self.headers} {text}")
        if self.server.sends_on_to:
            self.send_response(307)
            self.send_header("Location", f"{self.server.sends_on_to}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answer = self.server.answers.get(key)
        is_known = self.headers.get("Authorization") == f"Bearer {self.server.token}"
        if answer is None:
            status = 404
            value = {"message": "no such thing"}
        elif not is_known and key not in self.server.open_to_all:
            status = 401
            value = {"message": "who are you?"}
        else:
            status, value = answer(body)
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
