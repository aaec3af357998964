"""Functions that options name, and the servers where they are not called."""

import subprocess
import sys

import pytest

from hudi_pyspark import imported_function
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.imported_function import ALLOWED, import_function
from tests.conftest import PROJECT

SERVERS = [
    "java\0SparkSubmit\0--class\0org.apache.spark.sql.connect.service.SparkConnectServer",
    "java\0SparkSubmit\0--class\0org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
    "java\0SparkSubmit\0--conf\0spark.plugins=org.apache.spark.sql.connect.SparkConnectPlugin",
]
OTHERS = [
    "java\0org.apache.spark.deploy.SparkSubmit\0pyspark-shell",
    "java\0-cp\0/jars/spark-connect_2.13-4.1.0.jar\0spark.executor.CoarseGrainedExecutorBackend",
]


@pytest.fixture
def command(monkeypatch, request):
    monkeypatch.setattr(imported_function, "_commands", lambda: iter(["python", request.param]))
    monkeypatch.delenv(ALLOWED, raising=False)


@pytest.mark.parametrize("command", OTHERS, indirect=True)
@pytest.mark.usefixtures("command")
def test_function_is_imported_in_a_session_of_one_user():
    assert import_function("payload_merger", "posixpath:join")("a", "b") == "a/b"


@pytest.mark.parametrize("command", SERVERS, indirect=True)
@pytest.mark.parametrize("allowed", [None, "", "acme_mergers", "posix", "posixpath.more"])
@pytest.mark.usefixtures("command")
def test_server_calls_no_function_that_nobody_allowed(monkeypatch, allowed):
    if allowed is not None:
        monkeypatch.setenv(ALLOWED, allowed)
    with pytest.raises(InvalidOptionError, match=f"payload_merger is not allowed.*{ALLOWED}="):
        import_function("payload_merger", "posixpath:join")


@pytest.mark.parametrize("command", SERVERS, indirect=True)
@pytest.mark.parametrize("allowed", ["*", "posixpath", "acme_mergers, posixpath"])
@pytest.mark.usefixtures("command")
def test_server_calls_functions_of_allowed_modules(monkeypatch, allowed):
    monkeypatch.setenv(ALLOWED, allowed)
    assert import_function("payload_merger", "posixpath:join")("a", "b") == "a/b"


@pytest.mark.parametrize("command", OTHERS, indirect=True)
@pytest.mark.usefixtures("command")
def test_modules_that_are_named_are_the_only_ones_in_every_process(monkeypatch):
    monkeypatch.setenv(ALLOWED, "acme_mergers")
    with pytest.raises(InvalidOptionError, match="does not name the module posixpath"):
        import_function("payload_merger", "posixpath:join")


@pytest.mark.skipif(sys.platform != "linux", reason="command lines are read from /proc")
@pytest.mark.parametrize(("name", "is_server"), [("HiveThriftServer2", True), ("other", False)])
def test_processes_above_are_seen(name, is_server):
    child = (
        "import subprocess, sys;"
        "code = 'from hudi_pyspark.imported_function import import_function as f;"
        "f(chr(112), chr(111) + chr(115) + chr(58) + chr(103))';"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", child, name],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=True,
    )
    assert ("p is not allowed here" in done.stdout) is is_server
    assert "InvalidOptionError" in done.stdout
