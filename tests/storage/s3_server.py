"""A store that speaks enough of S3's protocol to be read from: a local folder as a bucket."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import formatdate
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.loopback import running

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

BUCKET = "lake"


class S3Server(ThreadingHTTPServer):
    """Serves a folder, and remembers who asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        self.credentials: set[str] = set()  # access key and region of each request
        self.tokens: set[str] = set()
        self.paths: list[str] = []  # of the requests, with their queries
        self.accepts: Callable[[str], bool] = lambda _: True  # by the session token
        self.page = 1_000  # entries of an answer to a listing
        self.before_read: Callable[[str], None] = lambda _: None  # may wait


def serve(folder: Path) -> AbstractContextManager[S3Server]:
    """Serve a folder as the bucket `lake` until the block ends."""
    return running(S3Server(folder))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: S3Server

    def log_message(self, *_arguments: object) -> None:
        pass  # nothing on standard error

    def do_HEAD(self) -> None:
        if self._is_accepted():
            self._answer_file()

    def do_GET(self) -> None:
        if not self._is_accepted():
            return
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if "list-type" in query:
            begin = int(query.get("continuation-token", ["0"])[0])
            self._answer_listing(query.get("prefix", [""])[0], begin)
        else:
            self._answer_file()

    def _is_accepted(self) -> bool:
        self.server.paths.append(self.path)
        token = self.headers.get("X-Amz-Security-Token", "")
        self.server.tokens.add(token)
        if self.server.accepts(token):
            return True
        self._answer(400, b"<Error><Code>ExpiredToken</Code></Error>", "application/xml")
        return False

    def _answer_listing(self, prefix: str, begin: int) -> None:
        directory = self.server.folder / prefix
        entries = sorted(directory.iterdir()) if directory.is_dir() else []
        items = "".join(
            f"<CommonPrefixes><Prefix>{escape(f'{prefix}{e.name}/')}</Prefix></CommonPrefixes>"
            if e.is_dir()
            else f"<Contents><Key>{escape(f'{prefix}{e.name}')}</Key><Size>{e.stat().st_size}"
            f"</Size><LastModified>{_time_of(e)}</LastModified></Contents>"
            for e in entries[begin : begin + self.server.page]
        )
        end = begin + self.server.page
        more = "<IsTruncated>false</IsTruncated>"
        if end < len(entries):
            more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{end}"
            more += "</NextContinuationToken>"
        start = f'<?xml version="1.0"?><ListBucketResult>{more}'
        self._answer(200, f"{start}{items}</ListBucketResult>".encode(), "application/xml")

    def _answer_file(self) -> None:
        key = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")
        file = self.server.folder / key
        if not file.is_file():
            self._answer(404, b"", "application/xml")
            return
        if self.command == "GET":
            self.server.before_read(key)
        content = file.read_bytes()
        asked = self.headers.get("Range", "")
        if not asked:
            self._answer(200, content, tag=sha256(content).hexdigest())
            return
        first, last = asked.removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        self._answer(206, part, content_range=f"bytes {first}-{last}/{len(content)}")

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "binary/octet-stream",
        *,
        content_range: str = "",
        tag: str = "",
    ) -> None:
        signed = self.headers.get("Authorization", "").partition("Credential=")[2].split("/")
        known = f"{signed[0]} {signed[2]}" if len(signed) > 2 else "anonymous"
        self.server.credentials.add(known)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        if tag:
            self.send_header("ETag", f'"{tag}"')
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _time_of(file: Path) -> str:
    """The time of change of a file, in whole seconds, as that of an object is."""
    changed = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
    return changed.strftime("%Y-%m-%dT%H:%M:%S.000Z")
