"""A folder as a bucket of S3, with a latency and a bandwidth, which counts requests and bytes.

    python -m benchmarks.object_store FOLDER LATENCY_MS MEGABYTES_PER_SECOND

The process prints its port, and ends with its standard input. It answers what readers ask: the
attributes of an object, all of it or a range, and listings of a prefix. It ignores signatures.
`/` returns what it has counted so far, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web

BUCKET = "bench"
_ROOT = "BENCHMARK_ROOT"
_ENDPOINT = "BENCHMARK_ENDPOINT"
_PIECE = 1 << 18  # bytes that are sent at a time
_HOST = "127.0.0.1"


def located(path: str) -> str:
    """Return the URL of a local path while its folder is served as a bucket, or the path."""
    root = os.environ.get(_ROOT)
    return f"s3a://{BUCKET}/{Path(path).relative_to(root).as_posix()}" if root else path


def hadoop_settings() -> dict[str, str]:
    """Return the settings with which Hadoop's S3A reads the bucket, as Spark's configuration."""
    if _ENDPOINT not in os.environ:
        return {}
    settings = {
        "endpoint": os.environ[_ENDPOINT],
        "endpoint.region": "us-east-1",
        "access.key": "key",
        "secret.key": "secret",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        # Apache Hudi leaves connections open: 96 are used up by the third query of TPC-H.
        "connection.maximum": "4000",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A running server, as the process that measures sees it."""

    root: Path
    endpoint: str

    @property
    def env(self) -> dict[str, str]:
        """The variables with which an engine reads the bucket."""
        ours = {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": "key",
            "fs.s3a.secret.key": "secret",
        }
        named = {f"HOODIE_ENV_{k.replace('.', '_DOT_')}": value for k, value in ours.items()}
        return {_ROOT: str(self.root), _ENDPOINT: self.endpoint, **named}

    def counted(self) -> tuple[int, int]:
        """Return how many requests were answered, and with how many bytes of objects."""
        with urllib.request.urlopen(self.endpoint) as reply:
            requests, size = json.load(reply)
        return requests, size


@contextmanager
def served(folder: Path, latency_ms: float, megabytes_per_second: float) -> Iterator[ObjectStore]:
    """Serve a folder from a process of its own until the block ends."""
    settings = [str(folder), str(latency_ms), str(megabytes_per_second)]
    command = [sys.executable, "-m", "benchmarks.object_store", *settings]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield ObjectStore(folder, f"http://{_HOST}:{port}")
        process.stdin.close()
        process.wait(timeout=20)


class _Server:
    def __init__(self, root: Path, latency: float, bytes_per_second: float) -> None:
        self._root = root
        self._latency = latency
        self._rate = bytes_per_second
        self._free_at = 0.0  # when the line has sent what was asked of it before
        self.requests = self.bytes = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        if request.path == "/":
            return web.json_response([self.requests, self.bytes])
        self.requests += 1
        await asyncio.sleep(self._latency)
        bucket, _, key = request.path.lstrip("/").partition("/")
        if bucket != BUCKET or request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        if not key:
            return self._list(request)
        file = self._root / key
        if not file.is_file():
            missing = "<Error><Code>NoSuchKey</Code></Error>"
            return web.Response(status=404, text=missing, content_type="application/xml")
        return await self._send(request, file)

    async def _send(self, request: web.Request, file: Path) -> web.StreamResponse:
        from aiohttp import web

        status = file.stat()
        begin = 0
        end = status.st_size
        asked = request.http_range
        if "Range" in request.headers:
            begin, end, _ = slice(asked.start, asked.stop).indices(status.st_size)
        headers = {
            "ETag": f'"{status.st_mtime_ns:x}"',
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(end - begin),
        }
        if "Range" in request.headers:
            if begin >= status.st_size:
                return web.Response(status=416)
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{status.st_size}"
        response = web.StreamResponse(status=206 if "Range" in request.headers else 200)
        response.headers.update(headers)
        await response.prepare(request)
        if request.method == "GET":
            # Readers close a connection where they have enough.
            with suppress(ConnectionResetError), file.open("rb") as content:
                content.seek(begin)
                while begin < end and (piece := content.read(min(_PIECE, end - begin))):
                    await self._wait_for_the_line(len(piece))
                    await response.write(piece)
                    begin += len(piece)
                    self.bytes += len(piece)
        with suppress(ConnectionResetError):
            await response.write_eof()
        return response

    async def _wait_for_the_line(self, size: int) -> None:
        """Wait until the line, which all connections share, has sent that many bytes."""
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + size / self._rate
        await asyncio.sleep(self._free_at - now)

    def _list(self, request: web.Request) -> web.Response:
        from aiohttp import web

        if "location" in request.query:
            text = "<LocationConstraint/>"
            return web.Response(text=text, content_type="application/xml")
        prefix = request.query.get("prefix", "")
        is_flat = "delimiter" not in request.query
        most = int(request.query.get("max-keys", "1000000"))
        folder = self._root / prefix.rpartition("/")[0]
        found = folder.rglob("*") if is_flat else folder.iterdir() if folder.is_dir() else ()
        files = []
        folders = []
        for path in found:
            name = path.relative_to(self._root).as_posix()
            if name.startswith(prefix):
                (folders if path.is_dir() else files).append((name, path))
        parts = [f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix>"]
        for name, path in sorted(files)[:most]:
            status = path.stat()
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(status.st_mtime))
            parts.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{when}</LastModified>"
                f'<ETag>"{status.st_mtime_ns:x}"</ETag><Size>{status.st_size}</Size>'
                "<StorageClass>STANDARD</StorageClass></Contents>"
            )
        for name, _ in sorted(folders) if not is_flat else ():
            parts.append(f"<CommonPrefixes><Prefix>{escape(name)}/</Prefix></CommonPrefixes>")
        count = f"<KeyCount>{len(parts) - 1}</KeyCount><IsTruncated>false</IsTruncated>"
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        text = f'<ListBucketResult xmlns="{space}">{"".join(parts)}{count}</ListBucketResult>'
        return web.Response(text=text, content_type="application/xml")


async def _serve(folder: Path, latency_ms: float, megabytes_per_second: float) -> None:
    from aiohttp import web

    server = _Server(folder, latency_ms / 1000, megabytes_per_second * 1e6)
    runner = web.ServerRunner(web.Server(server.answer))
    await runner.setup()
    site = web.TCPSite(runner, _HOST, 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await ended.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]).resolve(), float(sys.argv[2]), float(sys.argv[3])))
