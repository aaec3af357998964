"""What decides on another attempt, and how long a store may ask for fewer requests."""

import itertools
from urllib.parse import quote

import pyarrow as pa
import pytest

from hudi_pyspark import StorageAccessError, StorageError
from hudi_pyspark.storage.retries import RetryPolicy

# As pyarrow 26 spells answers; the text that a request is about comes first.
S3_HEAD = "When reading information for key '{}' in bucket 'lake': AWS Error {} (HTTP status {}) "
S3_HEAD += "during HeadObject operation: No response body."
S3_LIST = "When listing objects under key '{}' in bucket 'lake': AWS Error {} during ListObjectsV2 "
S3_LIST += "operation: {}"
GCS = "google::cloud::Status({}: Permanent error, with a last message of No {} error_info={{reason="
GCS += "x, metadata={{gcloud-cpp.retry.original-message=No {}, http_status_code={}}}}})"
AZURE = "GetProperties failed for 'http://127.0.0.1:1/acct/lake/{}'. Cannot initialise an "
AZURE += "ObjectInputFile without knowing the file size. Azure Error: [{}] {}\n\nRequest ID: 403"
WEBHDFS = "{} for url: http://h:1/webhdfs/v1/lake/{}?op=OPEN&offset=403"

PATHS = [
    "t/ok/f.parquet",
    "t/0a00a403-a403b-4_0-401-1203_2026.parquet",
    "t/store=400/f.parquet",
    "t/status=forbidden/f.parquet",
    "t/event=access_denied/slow_down.parquet",
    "t/it's 403 forbidden/RESOURCE_NOT_FOUND",
    "t/AWS Error ACCESS_DENIED/404 Not Found",
    "t/http_status_code=403/f",
]


def run(text, path, *, max_attempts=0, error=OSError, renew=None):
    """Answer always the same; return the error, and how often the request was made."""
    requests = []

    def fail():
        requests.append(1)
        raise error(text)

    with pytest.raises((StorageError, FileNotFoundError)) as caught:
        RetryPolicy(max_attempts).run(fail, f"s3://lake/{path}", renew)
    return caught.value, len(requests)


@pytest.fixture(autouse=True)
def used(clock):
    return clock


def answers(path):
    """The texts of one path, by what they must lead to."""
    name = path.rpartition("/")[2]
    encoded = quote(path)
    return {
        "repeated": [
            S3_HEAD.format(path, "UNKNOWN", 500),
            S3_HEAD.format(path, "UNKNOWN", 301),
            S3_LIST.format(path, "REQUEST_TIMEOUT", "Your socket was idle"),
            S3_LIST.format(path, "NETWORK_CONNECTION", "curlCode: 28, Timeout was reached"),
            S3_LIST.format(path, "INTERNAL_FAILURE", f"403 forbidden, {path}"),
            GCS.format("UNAVAILABLE", path, path, 500),
            AZURE.format(path, "", "500 Internal Server Error"),
            AZURE.format(path, "", "Fail to get a new connection for: http://h/403"),
            WEBHDFS.format("500 Server Error: oops", encoded),
            f"the connection to {path} was reset",
            f"the connection to {name} was reset",
        ],
        "throttled": [
            S3_HEAD.format(path, "UNKNOWN", 503),
            S3_HEAD.format(path, "UNKNOWN", 429),
            S3_LIST.format(path, "SLOW_DOWN", "Please reduce your request rate."),
            S3_LIST.format(
                path,
                "UNKNOWN (HTTP status 429)",
                "Unable to parse ExceptionName: TooManyRequests Message: 403",
            ),
            GCS.format("UNAVAILABLE", path, path, 429),
            GCS.format("UNAVAILABLE", path, path, 503),
            AZURE.format(path, "ServerBusy", "503 The server is busy."),
            WEBHDFS.format("503 Server Error: Service Unavailable", encoded),
        ],
        "refused": [
            S3_HEAD.format(path, "ACCESS_DENIED", 403),
            S3_HEAD.format(path, "UNKNOWN", 400),
            S3_LIST.format(path, "SIGNATURE_DOES_NOT_MATCH", "503 slow down"),
            S3_LIST.format(
                path,
                "UNKNOWN (HTTP status 400)",
                "Unable to parse ExceptionName: ExpiredToken Message: The token has expired",
            ),
            GCS.format("PERMISSION_DENIED", path, path, 403),
            AZURE.format(path, "AuthenticationFailed", "403 Forbidden"),
            AZURE.format(path, "", "401 Unauthorized"),
            WEBHDFS.format("401 Client Error: Unauthorized", encoded),
        ],
        "missing": [
            S3_LIST.format(path, "NO_SUCH_KEY", "The specified key does not exist."),
            AZURE.format(path, "BlobNotFound", "404 The specified blob does not exist."),
            AZURE.format(path, "", "404 Not Found"),
            WEBHDFS.format("404 Client Error: Not Found", encoded),
        ],
    }


@pytest.mark.parametrize("path", PATHS)
def test_code_and_status_decide_and_never_the_path(path):
    for text in answers(path)["repeated"]:
        error, requests = run(text, path)
        assert (type(error), requests) == (StorageError, 5), text
    for text in answers(path)["throttled"]:
        error, requests = run(text, path)
        assert (type(error), error.attempts) == (StorageError, requests), text
        assert requests > 12
    for text in answers(path)["refused"]:
        error, requests = run(text, path)
        assert (type(error), requests) == (StorageAccessError, 1), text
    for text in answers(path)["missing"]:
        error, requests = run(text, path)
        assert (type(error), requests) == (FileNotFoundError, 1), text
        assert path in str(error)


def test_counts_of_bytes_are_no_status():
    error, requests = run("400 of 403 bytes came from 401 on", "f", error=ConnectionError)
    assert (type(error), requests) == (StorageError, 5)


@pytest.mark.parametrize("error", [PermissionError, OSError, pa.ArrowException])
def test_refusals_of_every_class_renew_the_credentials(error):
    said = AZURE.format("f", "", "403 Forbidden")
    tokens = iter([True, True, False])
    caught, requests = run(said, "f", error=error, renew=lambda: next(tokens))
    assert (type(caught), requests) == (StorageAccessError, 3)


@pytest.mark.parametrize("seconds", [0.05, 2, 30, 60])
def test_store_that_asks_for_fewer_requests_is_waited_for_a_minute(clock, seconds):
    def answer():
        if clock.now < seconds:
            raise OSError(S3_LIST.format("t", "SLOW_DOWN", "Please reduce your request rate."))
        return clock.now

    assert seconds <= RetryPolicy().run(answer, "s3://lake/t") <= seconds + 5
    for pause, attempt in zip(clock.pauses, itertools.count(1), strict=False):
        longest = min(0.1 * 2**attempt, 5)
        assert longest / 2 <= pause <= longest
    assert len(clock.pauses) <= 26


def test_minute_of_a_store_ends_and_its_setting_is_named(clock):
    with pytest.raises(StorageError) as caught:
        RetryPolicy(advice=". Raise it").run(
            lambda: (_ for _ in ()).throw(OSError("AWS Error SLOW_DOWN during X operation: Slow")),
            "s3://lake/t",
        )
    assert 65 <= clock.now <= 70
    assert str(caught.value).startswith(
        "[HUDI_STORAGE] s3://lake/t: AWS Error SLOW_DOWN during X operation: Slow. Raise it "
        f"({len(clock.pauses) + 1} attempts)"
    )


def test_attempts_of_a_setting_count_while_a_store_throttles_too(clock):
    for max_attempts in (1, 3, 40):
        error, requests = run(S3_HEAD.format("f", "UNKNOWN", 503), "f", max_attempts=max_attempts)
        assert (type(error), requests) == (StorageError, max_attempts)
    assert clock.now > 100  # of forty attempts


def test_failures_after_a_throttled_minute_count_anew():
    texts = [S3_HEAD.format("f", "UNKNOWN", 503)] * 9 + [S3_HEAD.format("f", "UNKNOWN", 500)] * 4

    def answer():
        if texts:
            raise OSError(texts.pop(0))
        return "content"

    assert RetryPolicy().run(answer, "s3://lake/f") == "content"
