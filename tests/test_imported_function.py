"""Functions that options name: the environment of a process says which it may import."""

import subprocess
import sys

import pytest

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.imported_function import ALLOWED, import_function
from tests.conftest import PROJECT


@pytest.mark.parametrize("allowed", [None, "", " ", "acme_mergers", "posix", "posixpath.more"])
def test_module_that_nobody_allowed_is_not_imported(monkeypatch, allowed):
    monkeypatch.delenv(ALLOWED, raising=False)
    if allowed is not None:
        monkeypatch.setenv(ALLOWED, allowed)
    with pytest.raises(InvalidOptionError, match="may not import the module 'posixpath' here"):
        import_function("payload_merger", "posixpath:join")


@pytest.mark.parametrize("allowed", ["*", "posixpath", "acme_mergers, posixpath", "a\nposixpath"])
def test_module_that_is_allowed_is_imported(monkeypatch, allowed):
    monkeypatch.setenv(ALLOWED, allowed)
    assert import_function("payload_merger", "posixpath:join")("a", "b") == "a/b"


@pytest.mark.parametrize(
    ("allowed", "problem"),
    [(None, "of this process is not set"), ("acme", "of this process is 'acme'")],
)
def test_error_says_what_to_set_where(monkeypatch, allowed, problem):
    monkeypatch.delenv(ALLOWED, raising=False)
    if allowed is not None:
        monkeypatch.setenv(ALLOWED, allowed)
    with pytest.raises(InvalidOptionError) as raised:
        import_function("credentials_provider", "acme_tokens:for_location")
    text = str(raised.value)
    assert problem in text
    for advice in (
        "os.environ['HUDI_PYSPARK_FUNCTIONS'] = 'acme_tokens'",
        "spark.executorEnv.HUDI_PYSPARK_FUNCTIONS=acme_tokens",
        "HUDI_PYSPARK_FUNCTIONS=acme_tokens in conf/spark-env.sh",
    ):
        assert advice in text


def test_refused_module_does_not_run(tmp_path, monkeypatch):
    (tmp_path / "acme_harm.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(ALLOWED, raising=False)
    with pytest.raises(InvalidOptionError):
        import_function("payload_merger", "acme_harm:merge")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("parent", ["python", "java org.apache.spark.SparkSubmit", "HiveServer"])
def test_processes_around_this_one_decide_nothing(parent):
    child = (
        "import subprocess, sys;"
        "code = 'from hudi_pyspark.imported_function import import_function as f;"
        "f(chr(112), chr(111) + chr(115) + chr(58) + chr(103))';"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", child, parent],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=True,
        env={},
    )
    assert "p may not import the module 'os' here" in done.stdout
