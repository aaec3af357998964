"""Credentials that expire while a table is read."""

import gc
import pickle
import time
import weakref
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, StorageAccessError, thresholds
from hudi_pyspark.imported_function import ALLOWED
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.storage.credentials import Credentials, NamedProvider, current_credentials
from tests.emptied_state import empty
from tests.storage import short_lived
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it


@pytest.fixture
def calls(tmp_path, monkeypatch):
    file = tmp_path / "calls"
    monkeypatch.setenv(short_lived.CALLS, str(file))
    monkeypatch.setenv(short_lived.LIFETIME, "1")
    monkeypatch.setenv(ALLOWED, f"{short_lived.__name__}, os, no_such_module")
    empty(monkeypatch, "credentials")
    return file


@pytest.fixture
def s3(golden_table, calls):  # noqa: ARG001  (sets the environment)
    with serve(golden_table(MOR).parent) as server:
        server.accepts = short_lived.is_valid
        yield server


def options(s3, provider=short_lived.PROVIDER):
    return {
        "endpoint_override": s3.endpoint,
        "region": "eu-north-1",
        "credentials_provider": provider,
    }


def calls_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("provider", ["issue", "issue_without_end"])
def test_table_is_read_while_tokens_expire(s3, calls, provider):
    name = f"{short_lived.__name__}:{provider}"
    table = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3, name))
    end = time.time() + 2.5
    while time.time() < end:
        assert table.scan().count() == ROWS
    assert len(s3.tokens) >= 3
    assert {line.split()[1] for line in calls_of(calls)} == {f"s3://lake/{MOR}"}


def test_open_file_is_read_on_after_its_token_expired(s3):
    table = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3))
    with table.storage.open_input(".hoodie/hoodie.properties") as file:
        first = file.read(10)
        time.sleep(1.1)
        assert file.read(10) != first
    assert len(s3.tokens) == 2


def test_store_that_expects_no_token_at_all_refuses(s3, monkeypatch):
    monkeypatch.setenv(short_lived.LIFETIME, "-5")
    with pytest.raises(StorageAccessError, match=r"s3://lake/"):
        HudiTable(f"s3://lake/{MOR}", storage_options=options(s3))


def test_tasks_and_storage_travel_without_secrets(s3, calls, monkeypatch):
    monkeypatch.setenv(short_lived.LIFETIME, "600")
    scan = HudiTable(f"s3://lake/{MOR}", storage_options=options(s3)).scan()
    sent = pickle.dumps((scan.plan(), scan.storage))
    assert short_lived.SECRET.encode() not in sent
    assert b"token-" not in sent
    tasks, storage = pickle.loads(sent)
    assert sum(t.num_rows for task in tasks for t in read_task(task, storage)) == ROWS
    assert len(calls_of(calls)) == 1  # one process, one location


@pytest.mark.parametrize(
    ("provider", "error", "problem"),
    [
        ("no_such_module:issue", InvalidOptionError, "credentials_provider is"),
        ("os:sep", InvalidOptionError, "give module:function"),
        ("os:getpid", StorageAccessError, "raised TypeError"),
        (f"{short_lived.__name__}:is_valid", InvalidOptionError, "it returned bool"),
        (f"{short_lived.__name__}:issue_nothing", StorageAccessError, "ConnectionError: no cred"),
    ],
)
def test_provider_that_supplies_nothing_is_named(s3, provider, error, problem):
    with pytest.raises(error, match=problem):
        HudiTable(f"s3://lake/{MOR}", storage_options=options(s3, provider))


@pytest.mark.parametrize(
    "end",
    [
        2000.0,
        "2000",
        "1970-01-01T00:33:20Z",
        "1970-01-01T00:33:20+00:00",
        datetime.fromtimestamp(2000, timezone.utc),
    ],
)
def test_credentials_are_renewed_before_they_expire(end):
    assert Credentials.of({"expires_at": end}, now=1000).renew_at == 1940
    assert Credentials.of({"expires_at": end}, now=1990).renew_at == 1998


def test_end_that_is_not_a_time_is_refused():
    with pytest.raises(InvalidOptionError, match="of credentials_provider: give seconds"):
        Credentials.of({"expires_at": "soon"}, now=0)


class Secret(str):
    """A text with weak references, which show whether the process still keeps it."""

    __slots__ = ("__weakref__",)


class Supplier:
    """Supplies a new secret each time, until it fails."""

    def __init__(self, lifetime: float = 3600) -> None:
        self.lifetime = lifetime
        self.asked: list[str] = []
        self.supplied: list[weakref.ref[Secret]] = []
        self.fails = False

    def credentials(self, location: str) -> Mapping[str, object]:
        if self.fails:
            raise StorageAccessError(location, "no credentials")
        self.asked.append(location)
        secret = Secret(location)
        self.supplied.append(weakref.ref(secret))
        return {"secret_key": secret, "expires_at": time.time() + self.lifetime}

    def kept(self) -> list[str]:
        gc.collect()
        return [secret for reference in self.supplied if (secret := reference())]


@pytest.mark.usefixtures("calls")
def test_process_keeps_credentials_of_a_bounded_number_of_locations(monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_CREDENTIALS", 3)
    supplier = Supplier()
    places = [f"s3://lake/{number}" for number in range(10)]
    for place in [*places, *places[-3:]]:
        current_credentials(supplier, place)
    assert supplier.asked == places
    assert supplier.kept() == places[-3:]
    assert current_credentials(supplier, places[0]).options["secret_key"] == places[0]
    assert supplier.asked == [*places, places[0]]


@pytest.mark.usefixtures("calls")
def test_process_forgets_expired_secrets_when_it_asks_for_any():
    short = Supplier(lifetime=0)
    lasting = Supplier()
    current_credentials(short, "s3://lake/a")
    current_credentials(lasting, "s3://lake/b")
    assert short.kept() == []
    assert lasting.kept() == ["s3://lake/b"]


@pytest.mark.usefixtures("calls")
def test_process_forgets_a_refused_secret_even_if_there_is_no_other():
    supplier = Supplier()
    refused = current_credentials(supplier, "s3://lake/a")
    supplier.fails = True
    with pytest.raises(StorageAccessError):
        current_credentials(supplier, "s3://lake/a", refused=refused)
    del refused
    assert supplier.kept() == []


@pytest.mark.usefixtures("calls")
def test_secrets_are_not_shown():
    known = current_credentials(NamedProvider(short_lived.PROVIDER), "s3://lake/t")
    assert short_lived.SECRET in known.options.values()
    assert short_lived.SECRET not in repr(known)


def test_token_of_gcs_comes_with_its_end():
    given = {"access_token": "t", "expires_at": 5000}
    known = Credentials.of(given, now=0)
    assert known.options == {"access_token": "t", "credential_token_expiration": 5000}
