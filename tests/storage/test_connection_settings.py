"""Mistakes in settings of a storage are named, soon, without their values; no process ends."""

import json
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

from tests.conftest import PROJECT

SECRET = "very-secret-value"
KEY = {"access_key": "AKID", "secret_key": SECRET}
NOTHING = "http://127.0.0.1:1"
AZURE = "abfss://box@acme.dfs.core.windows.net/t"
NO_ROLE = {"AWS_EC2_METADATA_DISABLED": "true"}
# URI, storage options, variables of the environment.
MISTAKES: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "no region, and AWS cannot be reached": ("s3://lake/t", KEY, {}),
    "no credentials": ("s3://lake/t", {"endpoint_override": NOTHING}, NO_ROLE),
    "`access_key` without `secret_key`": (
        "s3://lake/t",
        {"access_key": SECRET, "endpoint_override": NOTHING},
        {},
    ),
    "`AWS_PROFILE` that no file has": ("s3://lake/t", KEY, {"AWS_PROFILE": "dev"}),
    "`endpoint_override` with a port beyond 65535": (
        "s3://lake/t",
        {**KEY, "endpoint_override": f"http://me:{SECRET}@127.0.0.1:99999"},
        {},
    ),
    "`endpoint_override` where nothing listens": (
        "s3://lake/t",
        {**KEY, "endpoint_override": NOTHING},
        {},
    ),
    "`proxy_options` without a scheme": (
        "s3://lake/t",
        {**KEY, "endpoint_override": NOTHING, "proxy_options": f"me:{SECRET}@host"},
        {},
    ),
    "a mistyped option": ("s3://lake/t", {"acess_key": SECRET}, {}),
    "`scheme=ftp`": ("gs://lake/t", {"scheme": "ftp", "access_token": SECRET}, {}),
    "`access_token` and `anonymous`": (
        "gs://lake/t",
        {"access_token": SECRET, "anonymous": "true"},
        {},
    ),
    "`retry_time_limit=soon`": (
        "gs://lake/t",
        {"access_token": SECRET, "retry_time_limit": "soon"},
        {},
    ),
    "no token, login or account of the machine": ("gs://lake/t", {}, {}),
    "`access_token`, and `endpoint_override` where nothing listens": (
        "gs://lake/t",
        {"access_token": SECRET, "endpoint_override": NOTHING},
        {},
    ),
    "no account": ("abfss://box/t", {"sas_token": SECRET}, {}),
    "no key, SAS token or identity": (AZURE, {}, {}),
    "`account_key` without its padding": (AZURE, {"account_key": "dmVyeXNlY3JldA"}, {}),
    "a port beyond 65535 in `blob_storage_authority`": (
        AZURE,
        {"sas_token": SECRET, "blob_storage_authority": "127.0.0.1:99999"},
        {},
    ),
    "`client_secret` and `blob_storage_scheme=http`": (
        AZURE,
        {
            "tenant_id": "t",
            "client_id": "c",
            "client_secret": SECRET,
            "blob_storage_scheme": "http",
        },
        {},
    ),
    "`account_key` and `sas_token`": (AZURE, {"account_key": "a2V5", "sas_token": SECRET}, {}),
    "an account that does not exist": (AZURE, {"sas_token": SECRET}, {}),
    "`blob_storage_authority` where nothing listens": (
        AZURE,
        {"sas_token": SECRET, "blob_storage_authority": "127.0.0.1:1"},
        {},
    ),
    "a port beyond 65535": ("hdfs://name:99999/t", {}, {}),
    "neither libhdfs nor hdfs-native": ("hdfs://name:9000/t", {}, {}),
    "no host": ("webhdfs:///t", {"token": SECRET}, {}),
    "a host where nothing listens": ("webhdfs://127.0.0.1:1/t", {"token": SECRET}, {}),
    "no ossfs": ("oss://lake/t", {"key": "k", "secret": SECRET}, {}),
    "`endpoint` with a port beyond 65535": (
        "oss://lake/t",
        {"key": "k", "secret": SECRET, "endpoint": "http://127.0.0.1:99999"},
        {},
    ),
}
# What the message of each mistake says: the setting, and what to give.
MESSAGES = {
    "no region, and AWS cannot be reached": (
        "its region is not known",
        "Give the storage option region (or AWS_REGION)",
    ),
    "no credentials": (
        "there are no credentials. Give the storage options access_key and secret_key",
    ),
    "`access_key` without `secret_key`": ("both access_key and secret_key must be provided",),
    "`AWS_PROFILE` that no file has": ("AWS_PROFILE is 'dev', but no file has this profile",),
    "`endpoint_override` with a port beyond 65535": (
        "storage option endpoint_override: give host or host:port",
    ),
    "`endpoint_override` where nothing listens": (
        "NETWORK_CONNECTION",
        "Could not connect to server",
    ),
    "`proxy_options` without a scheme": ("storage option proxy_options: give http://host:port",),
    "a mistyped option": ("unknown storage option 'acess_key' for s3; did you mean access_key?",),
    "`scheme=ftp`": ("storage option scheme: give http or https",),
    "`access_token` and `anonymous`": ("anonymous option is not compatible",),
    "`retry_time_limit=soon`": ("storage option retry_time_limit: give a number",),
    "no token, login or account of the machine": (
        "there are no credentials. Give the storage option access_token (or GOOGLE_APPLICATION",
    ),
    "`access_token`, and `endpoint_override` where nothing listens": (
        "127.0.0.1:1 cannot be reached",
        "Check the path, or the storage option endpoint_override",
    ),
    "no account": ("needs the account",),
    "no key, SAS token or identity": (
        "there are no credentials. Give the storage option account_key, or sas_token",
    ),
    "`account_key` without its padding": ("storage option account_key: it is not Base64",),
    "a port beyond 65535 in `blob_storage_authority`": (
        "storage option blob_storage_authority: give host or host:port",
    ),
    "`client_secret` and `blob_storage_scheme=http`": ("tokens are not sent over http",),
    "`account_key` and `sas_token`": ("Cannot specify both account_key and sas_token",),
    "an account that does not exist": (
        "acme.blob.core.windows.net:443 cannot be reached",
        "Check the path, or the storage option blob_storage_authority",
    ),
    "`blob_storage_authority` where nothing listens": (
        "127.0.0.1:1 cannot be reached",
        "Check the path, or the storage option blob_storage_authority",
    ),
    "a port beyond 65535": ("hdfs://name:99999: give host or host:port",),
    "neither libhdfs nor hdfs-native": (
        "needs libhdfs and Java on every machine",
        "or pip install hdfs-native (extra 'hdfs')",
    ),
    "no host": ("webhdfs:// has no host",),
    "a host where nothing listens": (
        "127.0.0.1:1 cannot be reached",
        "Check the path, or the storage option host",
    ),
    "no ossfs": ("oss:// needs a package that is not installed: pip install ossfs (extra 'oss')",),
    "`endpoint` with a port beyond 65535": ("storage option endpoint: give host or host:port",),
}
NO_PROCESS_MAY_END = [
    {"account_key": "YWJjZA"},
    {"account_key": "YWJj\nYWJj"},
    {"account_key": "a b c"},
    {"account_key": "a2V5", "blob_storage_authority": "127.0.0.1:x"},
    {"account_key": "a2V5", "blob_storage_authority": "127.0.0.1:-1"},
    {"account_key": "a2V5", "dfs_storage_authority": "127.0.0.1:65536"},
    {"account_key": "a2V5", "blob_storage_authority": NOTHING},
    {"account_key": "", "blob_storage_scheme": "http"},
    {"sas_token": "", "dfs_storage_scheme": "http"},
    {"client_id": "c", "blob_storage_scheme": "http"},
]
OPEN = """
import json, socket, sys, time
import pyarrow.fs as pafs
from hudi_pyspark import HudiTable

def unable(*_, **__):
    raise OSError("Unable to load libjvm: none\\nsecond line")

connect = socket.create_connection

def connect_on_loopback(address, *more):
    if address[0] != "127.0.0.1":
        raise OSError("Name or service not known")
    return connect(address, *more)

sys.modules["hdfs_native.fsspec"] = None
pafs.HadoopFileSystem = unable
socket.create_connection = connect_on_loopback
for line in sys.stdin:
    uri, options = json.loads(line)
    begin = time.monotonic()
    try:
        HudiTable(uri, storage_options={"attempts": "1", **options})
    except Exception as error:
        print(json.dumps([time.monotonic() - begin, type(error).__name__, str(error)]), flush=True)
"""


def opened(cases, variables):
    """Open tables in a process, and return the seconds, the class and the message of each error."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN],
        input="".join(f"{json.dumps(case)}\n" for case in cases),
        env={
            "HOME": "/nowhere",
            "PYTHONPATH": str(PROJECT),
            "AWS_CONFIG_FILE": "/nowhere/config",
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{cases}: {done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_mistake_has_a_message_and_the_page_counts_them():
    assert MESSAGES.keys() == MISTAKES.keys()
    page = (PROJECT / "docs" / "storage.md").read_text(encoding="utf-8")
    assert f"makes {len(MISTAKES)} mistakes" in " ".join(page.split())


@cache
def made():
    """Make all mistakes; those with equal variables share a process."""
    found: dict[str, tuple[float, str, str]] = {}
    for variables in ({}, NO_ROLE, {"AWS_PROFILE": "dev"}):
        names = [name for name, case in MISTAKES.items() if case[2] == variables]
        ended = opened([MISTAKES[name][:2] for name in names], variables)
        found |= dict(zip(names, ended, strict=True))
    return found


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named_soon_and_without_its_value(mistake):
    if mistake == "no ossfs" and find_spec("ossfs") is not None:
        pytest.skip("ossfs is installed")
    seconds, kind, message = made()[mistake]
    for text in MESSAGES[mistake]:
        assert text in message
    assert kind in {"InvalidOptionError", "StorageError", "StorageAccessError", "ImportError"}
    assert SECRET not in message
    assert "dmVyeXNlY3JldA" not in message
    assert seconds < 2


def test_clients_end_no_process():
    ended = opened([(AZURE, options) for options in NO_PROCESS_MAY_END], {})
    assert [kind for _, kind, _ in ended] == ["InvalidOptionError"] * len(NO_PROCESS_MAY_END)
