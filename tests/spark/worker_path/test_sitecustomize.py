"""The path of Python processes that prefer an installed PySpark to Spark's zips."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hudi_pyspark.spark.session import WORKER_PATH
from hudi_pyspark.spark.worker_path.sitecustomize import without_zips

PYSPARK = {
    "pyspark/__init__.py": "",
    "pyspark/version.py": "__version__ = '4.3.0'",
    "pyspark/daemon.py": "forks = True",
    "pyspark/worker.py": "works = True",
}
PY4J = {"py4j/__init__.py": "", "py4j/version.py": "__version__ = '0.10.9.9'"}
OTHER_VERSION = {"pyspark/version.py": "__version__ = '4.3.1'"}
ASK = "import sys, pyspark; print(pyspark.__file__); print(*sys.path, sep='\\n')"


def write_zip(path: Path, contents: dict[str, str]) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return str(path)


def write_folder(folder: Path, contents: dict[str, str]) -> str:
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


@pytest.fixture
def zips(tmp_path):
    """Spark's zips, in the order in which Spark puts them on the path."""
    spark_zip = write_zip(tmp_path / "pyspark.zip", PYSPARK)
    return [spark_zip, write_zip(tmp_path / "py4j-0.10.9.9-src.zip", PY4J)]


@pytest.fixture
def installed(tmp_path):
    return write_folder(tmp_path / "site-packages", PYSPARK | PY4J)


def test_zips_leave_the_path_if_the_same_pyspark_is_installed(zips, installed):
    assert without_zips([*zips, "/user", installed]) == ["/user", installed]


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param({}, id="nothing installed"),
        pytest.param(PYSPARK, id="no py4j"),
        pytest.param(PYSPARK | PY4J | OTHER_VERSION, id="another version"),
        pytest.param(PYSPARK | PY4J | {"pyspark/worker.py": ""}, id="another worker"),
        pytest.param(PYSPARK | PY4J | {"pyspark/daemon.py": ""}, id="another daemon"),
        pytest.param(PYSPARK | {"py4j/__init__.py": ""}, id="py4j without a version"),
        pytest.param(PY4J | {"pyspark.py": ""}, id="a module named pyspark"),
        pytest.param(PY4J | {"pyspark/version.py": ""}, id="a folder that is no package"),
    ],
)
def test_path_is_that_of_spark_unless_the_same_pyspark_is_installed(zips, tmp_path, contents):
    paths = [*zips, write_folder(tmp_path / "site-packages", contents)]
    assert without_zips(paths) == paths


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_path_is_that_of_spark_if_a_zip_cannot_be_read(zips, installed, damage):
    if damage == "missing":
        Path(zips[0]).unlink()
    else:
        Path(zips[0]).write_text("no zip")
    assert without_zips([*zips, installed]) == [*zips, installed]


def test_zip_of_the_user_stays(zips, installed, tmp_path):
    own_zip = write_zip(tmp_path / "own-src.zip", {"own.py": ""})
    assert without_zips([own_zip, *zips, installed]) == [own_zip, installed]


def start(*paths: str, code: str = ASK) -> subprocess.CompletedProcess[str]:
    """Start a Python as Spark starts the processes of the source, and ask it for its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


def test_process_imports_the_installed_pyspark(zips, installed):
    origin, *paths = start(*zips, WORKER_PATH, installed).stdout.splitlines()
    assert origin == str(Path(installed, "pyspark", "__init__.py"))
    assert not {*zips, WORKER_PATH} & {*paths}


def test_process_imports_the_zip_if_another_version_is_installed(zips, tmp_path):
    other = write_folder(tmp_path / "other", PYSPARK | PY4J | OTHER_VERSION)
    origin, *paths = start(*zips, WORKER_PATH, other).stdout.splitlines()
    assert origin == str(Path(zips[0], "pyspark", "__init__.py"))
    assert paths[1:4] == [*zips, other]


def test_package_that_was_sent_as_a_zip_has_the_same_effect(zips, installed, tmp_path):
    inside = "hudi_pyspark/spark/worker_path"
    source = Path(WORKER_PATH, "sitecustomize.py").read_text(encoding="utf-8")
    package = write_zip(tmp_path / "hudi_pyspark.zip", {f"{inside}/sitecustomize.py": source})
    own_folder = str(Path(package, inside))
    origin, *paths = start(*zips, own_folder, package, installed).stdout.splitlines()
    assert origin == str(Path(installed, "pyspark", "__init__.py"))
    assert package in paths
    assert own_folder not in paths


def test_folder_that_does_not_exist_on_an_executor_has_no_effect(zips, installed):
    origin, *_ = start(*zips, "/not/on/this/executor", installed).stdout.splitlines()
    assert origin == str(Path(zips[0], "pyspark", "__init__.py"))


def test_sitecustomize_of_the_user_runs_on_the_path_of_the_user(zips, installed, tmp_path):
    own = write_folder(tmp_path / "own", {"sitecustomize.py": "import sys; sys.own = __file__"})
    code = "import sys, pyspark; print(sys.own); print(pyspark.__file__)"
    done = start(*zips, WORKER_PATH, own, installed, code=code)
    assert done.stdout.splitlines() == [
        str(Path(own, "sitecustomize.py")),
        str(Path(installed, "pyspark", "__init__.py")),
    ]


def test_error_of_a_sitecustomize_of_the_user_is_what_python_makes_of_it(zips, tmp_path):
    own = write_folder(tmp_path / "own", {"sitecustomize.py": "raise ValueError('of the user')"})
    with_ours = start(*zips, WORKER_PATH, own)
    alone = start(*zips, own)
    assert "of the user" in with_ours.stderr
    assert with_ours.stderr == alone.stderr


def test_process_without_another_sitecustomize_says_nothing(zips, installed):
    assert start(*zips, WORKER_PATH, installed).stderr == ""


def test_process_collects_garbage_rarely_and_starts_no_threads_of_linear_algebra(installed):
    code = "import gc, os; print(gc.get_threshold()[0], os.environ.get('OPENBLAS_NUM_THREADS'))"
    with_ours, alone = (start(*paths, installed, code=code) for paths in ([WORKER_PATH], []))
    assert with_ours.stdout.split() == ["50000", os.environ.get("OPENBLAS_NUM_THREADS", "1")]
    assert alone.stdout.split()[0] != "50000"


def test_settings_of_the_user_win(installed, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    own = write_folder(tmp_path / "own", {"sitecustomize.py": "import gc; gc.set_threshold(77)"})
    code = "import gc, os; print(gc.get_threshold()[0], os.environ.get('OPENBLAS_NUM_THREADS'))"
    assert start(WORKER_PATH, own, installed, code=code).stdout.split() == ["77", "7"]
