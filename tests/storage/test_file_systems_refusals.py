"""What a store says where it refuses a request, and what the reader makes of it."""

import gzip
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, StorageAccessError, StorageError
from hudi_pyspark.storage import ArrowStorage
from tests.loopback import running
from tests.storage.s3_server import serve

REGION = {"x-amz-bucket-region": "eu-central-1"}
WRONG = "The authorization header is malformed; the region 'r-1' is wrong; expecting 'eu-central-1'"
MOVED = "The bucket you are attempting to access must be addressed using the specified endpoint."
SKEWED = "The difference between the request time and the current time is too large."


class Refusing(ThreadingHTTPServer):
    """Answers every request alike; one with content answers HEAD, and refuses GET."""

    daemon_threads = True

    def __init__(self, status, code, message, headers, content=0):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        self.status = status
        self.headers = headers
        self.content = content
        self.body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        self.requests = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Refusing

    def log_message(self, *_arguments):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.requests.append(f"{self.command} {self.path.partition('?')[0]}")
        is_head = self.command == "HEAD"
        is_there = is_head and self.server.content
        self.send_response(200 if is_there else self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/xml")
        length = self.server.content if is_there else len(self.server.body)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if not is_head:
            self.wfile.write(self.server.body)


@contextmanager
def refusing(*answer, **more):
    with running(Refusing(*answer, **more)) as server:
        options = {
            "endpoint_override": server.endpoint,
            "access_key": "a",
            "secret_key": "b",
            "region": "r-1",
            "attempts": "2",
        }
        yield server, options


@pytest.mark.parametrize(
    ("answer", "requests"),
    [
        ((301, "PermanentRedirect", MOVED, REGION), 3),
        ((400, "AuthorizationHeaderMalformed", WRONG, REGION), 2),
        ((400, "AuthorizationHeaderMalformed", WRONG, {}), 2),
    ],
    ids=["301", "400", "400 without a header"],
)
def test_wrong_region_names_the_right_one(answer, requests):
    named = r"bucket lake is in the region eu-central-1. Give the storage option region=eu-central"
    with refusing(*answer) as (server, options):
        with pytest.raises(StorageAccessError, match=named):
            HudiTable("s3://lake/t", storage_options=options)
        assert len(server.requests) == requests
        storage = ArrowStorage.parse("s3://lake/t", options)
        with pytest.raises(StorageAccessError, match=named):
            storage.list_directory(".hoodie")


@pytest.mark.parametrize(
    ("answer", "kind", "named"),
    [
        ((403, "RequestTimeTooSkewed", SKEWED, {}), StorageError, "Set the clock of this machine"),
        ((400, "ExpiredToken", "The provided token has expired.", {}), StorageAccessError,
         "ExpiredToken Message: The provided token has expired"),
        ((403, "InvalidAccessKeyId", "The key does not exist.", {}), StorageAccessError,
         "INVALID_ACCESS_KEY_ID"),
        ((403, "AccessDenied", "no s3:ListBucket", {}), StorageAccessError, "no s3:ListBucket"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_refusal_of_a_head_is_explained_by_a_list(answer, kind, named):
    with refusing(*answer) as (_, options), pytest.raises(kind, match=named):
        HudiTable("s3://lake/t", storage_options=options)


@pytest.mark.parametrize("code", ["InvalidObjectState", "AccessDenied"])
def test_object_whose_content_is_refused_may_be_archived(code):
    refused: Any = (403, code, "not valid for the object's storage class", {})
    with refusing(*refused, content=5_000) as (_, options):
        storage = ArrowStorage.parse("s3://lake/t", options)
        with pytest.raises(StorageAccessError, match=r"archived object \(Glacier\) must be"):
            storage.read_bytes("f.parquet")


def test_content_that_is_compressed_on_the_way_is_no_damaged_table(tmp_path):
    (tmp_path / "t" / ".hoodie").mkdir(parents=True)
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_bytes(gzip.compress(b"hoodie.table.name=t"))
    with serve(tmp_path) as server:
        options = {"endpoint_override": server.endpoint, "anonymous": "true"}
        with pytest.raises(StorageError, match=r"hoodie.properties: the content is compressed"):
            HudiTable("s3://lake/t", storage_options=options)


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_empty_name_in_a_path_is_named_with_the_right_spelling(scheme):
    options = {"anonymous": "true", **({"region": "r"} if scheme == "s3" else {})}
    with pytest.raises(InvalidOptionError, match=f"give {scheme}://lake/x/t"):
        HudiTable(f"{scheme}://lake//x//t", storage_options=options)
