"""HDFS of one name node and one data node on loopback, which end with this process at last."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape

import pytest
import requests

from tests.project.ci_java import java
from tests.storage.servers import BUILD, Server, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

JARS = BUILD / "hadoop/jars"
LIBHDFS = BUILD / "libhdfs"
OWNER = "hdfs"  # runs the daemons, which makes it the superuser
READER = "reader"
_DAEMON = "org.apache.hadoop.hdfs.server"
# The name node's REST resources are read by reflection, and a small heap starts faster.
_JAVA_OPTIONS = ["--add-opens=java.base/java.lang=ALL-UNNAMED", "-Xmx256m", "-XX:+UseSerialGC"]
_LOGGING = """
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.SimpleLayout
"""


@dataclass
class Hdfs:
    """Running daemons.

    Attributes:
        folder: of their settings, blocks and logs.
        rpc: port of the name node for `hdfs://`.
        http: its port for `webhdfs://`.
    """

    folder: Path
    rpc: int = field(default_factory=free_port)
    http: int = field(default_factory=free_port)
    _data_node: ExitStack = field(default_factory=ExitStack)

    @contextmanager
    def running(self) -> Iterator[Hdfs]:
        """Run both daemons until the block ends, and begin when they store a file."""
        self._configure()
        format_it = [*self._command("namenode.NameNode"), "-format", "-nonInteractive"]
        subprocess.run(format_it, env=self._environment(), check=True, capture_output=True)
        with self._daemon("namenode.NameNode"), self._data_node:
            self.start_data_node()
            yield self

    def start_data_node(self) -> None:
        """Start the data node, and wait until files can be written."""
        self._data_node.enter_context(self._daemon("datanode.DataNode"))
        end = time.monotonic() + 120
        while not self._takes_files():
            if time.monotonic() > end:
                pytest.fail("\n".join(f.read_text() for f in self.folder.glob("*.log")))
            time.sleep(0.5)

    def kill_data_node(self) -> None:
        """Kill the data node, whose blocks are then out of reach."""
        self._data_node.close()

    def write(self, path: str, content: bytes) -> None:
        """Write a file, by REST and without the clients under test."""
        asked = self._request("PUT", path, op="CREATE", overwrite="true", noredirect="true")
        requests.put(asked.json()["Location"], data=content, timeout=30).raise_for_status()

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._request("DELETE", path, op="DELETE")

    def hide(self, path: str) -> None:
        """Leave a file or folder to its owner."""
        self._request("PUT", path, op="SETPERMISSION", permission="700")

    def _takes_files(self) -> bool:
        try:
            self.write(f"/started/{uuid.uuid4().hex}", b"content")
        except requests.RequestException:
            return False
        return True

    def _request(self, method: str, path: str, **query: str) -> requests.Response:
        url = f"http://127.0.0.1:{self.http}/webhdfs/v1{quote(path)}"
        answer = requests.request(method, url, params={**query, "user.name": OWNER}, timeout=30)
        answer.raise_for_status()
        return answer

    def _configure(self) -> None:
        # The pages of the daemons are not in the jars; they do not start without their folders.
        for name in ("hdfs", "datanode", "static"):
            (self.folder / "webapps" / name).mkdir(parents=True)
        (self.folder / "log4j.properties").write_text(_LOGGING)
        _write_settings(
            self.folder / "core-site.xml",
            {
                "fs.defaultFS": f"hdfs://127.0.0.1:{self.rpc}",
                "hadoop.tmp.dir": str(self.folder / "tmp"),
            },
        )
        _write_settings(
            self.folder / "hdfs-site.xml",
            {
                "dfs.replication": "1",
                "dfs.namenode.http-address": f"127.0.0.1:{self.http}",
                "dfs.datanode.address": "127.0.0.1:0",
                "dfs.datanode.http.address": "127.0.0.1:0",
                "dfs.datanode.ipc.address": "127.0.0.1:0",
                "dfs.datanode.hostname": "127.0.0.1",
                "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            },
        )

    def _command(self, daemon: str) -> list[str]:
        found = java.find()
        assert found is not None
        classes = f"{self.folder}{os.pathsep}{JARS}/*"
        return [str(found.home / "bin/java"), *_JAVA_OPTIONS, "-cp", classes, f"{_DAEMON}.{daemon}"]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HADOOP_USER_NAME": OWNER}

    @contextmanager
    def _daemon(self, name: str) -> Iterator[None]:
        """Run a daemon until the block ends, or until this process does."""
        # The pipe to the shell closes with this process, however that ends.
        command = ["sh", "-c", '"$@" & read _; kill -9 $!', "sh", *self._command(name)]
        with (
            (self.folder / f"{name}.log").open("ab") as log,
            subprocess.Popen(
                command, env=self._environment(), stdin=subprocess.PIPE, stdout=log, stderr=log
            ) as shell,
        ):
            try:
                yield
            finally:
                shell.communicate()  # closes the pipe and waits


@dataclass(frozen=True)
class HdfsServer(Server):
    """HDFS through one of its clients."""

    hdfs: Hdfs = field(kw_only=True)

    def write(self, files: Mapping[str, bytes]) -> str:
        location = f"{self.root}/{uuid.uuid4().hex}/t"
        paths = [f"{urlsplit(location).path}/{path}" for path in files]
        with ThreadPoolExecutor(8) as pool:  # each file is a few round trips
            list(pool.map(self.hdfs.write, paths, files.values()))
        return location


@contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """HDFS, whose jars are Apache Hadoop's."""
    if java.find() is None:
        pytest.skip(java.WHAT_TO_DO)
    if not JARS.exists():
        pytest.skip("Hadoop's jars are missing: make test-storage, which needs Maven")
    with Hdfs(folder).running() as running:
        yield running


def _write_settings(file: Path, settings: Mapping[str, str]) -> None:
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>{properties}</configuration>")
