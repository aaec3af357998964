"""HDFS over HTTP as far as a reader asks for it: a name node that sends readers to a data node."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import running

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_PREFIX = "/webhdfs/v1"


class WebHdfsServer(ThreadingHTTPServer):
    """Serves a folder, and remembers all connections and requests."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.uri = f"webhdfs://127.0.0.1:{self.server_address[1]}"
        self.data_node = self.uri  # the one that OPEN is sent to
        self.connections = 0
        self.asked: list[str] = []  # paths with their queries

    def get_request(self) -> tuple[Any, Any]:
        self.connections += 1
        return super().get_request()


def serve(folder: Path) -> AbstractContextManager[WebHdfsServer]:
    """Serve a folder as the root of a file system until the block ends."""
    return running(WebHdfsServer(folder))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebHdfsServer

    def log_message(self, *_arguments: object) -> None:
        pass  # nothing on standard error

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.path} {self.headers}")
        path = unquote(urlsplit(self.path).path).removeprefix(_PREFIX)
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        file = Path(f"{self.server.folder}{path}")
        if not file.exists():
            said = {"exception": "FileNotFoundException", "message": f"File does not exist: {path}"}
            self._answer(404, json.dumps({"RemoteException": said}).encode())
        elif query["op"] == "GETFILESTATUS":
            self._answer(200, json.dumps({"FileStatus": _status(file)}).encode())
        elif query["op"] == "LISTSTATUS":
            found = {"FileStatus": [_status(each) for each in file.iterdir()]}
            self._answer(200, json.dumps({"FileStatuses": found}).encode())
        elif "namenode" not in query:
            data_node = self.server.data_node.replace("webhdfs", "http")
            part = f"offset={query['offset']}&length={query['length']}"
            self._answer(307, b"", f"{data_node}{_PREFIX}{path}?op=OPEN&{part}&namenode=n")
        else:
            begin = int(query["offset"])
            self._answer(200, file.read_bytes()[begin : begin + int(query["length"])])

    def _answer(self, status: int, content: bytes, location: str = "") -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _status(file: Path) -> dict[str, object]:
    kind = "DIRECTORY" if file.is_dir() else "FILE"
    size = 0 if file.is_dir() else file.stat().st_size
    return {"pathSuffix": file.name, "type": kind, "length": size, "modificationTime": 1}
