"""Rare answers: of hdfs-native by a client that gives them, of WebHDFS by a server that does."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from hudi_pyspark import StorageAccessError, StorageError
from hudi_pyspark.storage.connection import GivenFileSystem
from hudi_pyspark.storage.file_systems import HdfsNativeFileSystem
from hudi_pyspark.storage.table_storage import ArrowStorage
from tests.loopback import running

REFUSED = (
    'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=u'
    '\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSPermissionChecker.check")'
)


def storage_of(client):
    files = HdfsNativeFileSystem(SimpleNamespace(client=client), "hdfs://name:1")
    return ArrowStorage(GivenFileSystem(files), "/lake/t", "hdfs", host="name:1")


def test_name_node_that_does_not_answer_is_asked_once():
    client = Mock(list_status=Mock(side_effect=OSError("Connection refused (os error 111)")))
    with pytest.raises(StorageError, match=r"hdfs://name:1/lake/t/p.*Connection refused"):
        storage_of(client).list_directory("p")
    assert client.list_status.call_count == 1


def test_refusal_is_named_without_a_stack_trace():
    client = Mock(read=Mock(side_effect=RuntimeError(REFUSED)))
    with pytest.raises(StorageAccessError, match="Permission denied: user=u") as caught:
        storage_of(client).open_input("f")
    assert "FSPermissionChecker" not in str(caught.value)
    assert "hdfs://name:1/lake/t/f" in str(caught.value)


def test_listing_of_a_file_is_refused():
    file = SimpleNamespace(path="/lake/t/f", isdir=False, length=1, modification_time=1)
    with pytest.raises(NotADirectoryError):
        storage_of(Mock(list_status=Mock(return_value=[file]))).list_directory("f")


class FailingDataNode(BaseHTTPRequestHandler):
    """A name node that sends readers to a data node whose answer is an error."""

    server: HTTPServer

    def log_message(self, *_arguments: object) -> None:
        pass  # nothing on standard error

    def do_GET(self) -> None:
        if "op=GETFILESTATUS" in self.path:
            self._answer(200, {"FileStatus": {"type": "FILE", "length": 20}})
        elif "op=OPEN" in self.path:
            self._answer(307, {}, Location=f"http://127.0.0.1:{self.server.server_port}/data")
        else:
            said = {"exception": "IOException", "message": "the block is gone"}
            self._answer(403, {"RemoteException": said})

    def _answer(self, status: int, body: object, **headers: str) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


def test_error_page_of_a_data_node_is_not_content():
    pytest.importorskip("requests")
    with running(HTTPServer(("127.0.0.1", 0), FailingDataNode)) as server:
        location = f"webhdfs://127.0.0.1:{server.server_port}/lake/t"
        storage = ArrowStorage.parse(location, {"attempts": 1})
        with pytest.raises(StorageError, match=f"{location}/f.*the block is gone"):
            storage.read_bytes("f")
