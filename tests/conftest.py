"""What tests of several folders share: a Spark session, golden tables, Hypothesis profiles."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.project.ci_java import java
from tests.project.ci_script import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parent.parent
GOLDEN = PROJECT / "tests" / "golden"
PATIENCE = 300  # seconds, for what takes a moment: only a test that fails waits so long
OF_CONNECT = "connect"  # in the ids of all tests that share the Connect server

# No deadline: the first example pays for imports, and on a busy machine time says nothing.
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", QUIET, max_examples=30)
settings.register_profile("thorough", QUIET, max_examples=2_000)
settings.load_profile("ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of clusters, servers, notebooks, … unless they are asked for."""
    for marker in ("cluster", "full", "servers", "notebook", "browser", "engines"):
        if marker not in config.option.markexpr:
            left_out = {item for item in items if item.get_closest_marker(marker) is not None}
            items[:] = [item for item in items if item not in left_out]
            config.hook.pytest_deselected(items=[*left_out])
    unnamed = [
        item.nodeid
        for item in items
        if "connect_port" in getattr(item, "fixturenames", ()) and OF_CONNECT not in item.nodeid
    ]
    if unnamed:
        raise pytest.UsageError(f"The tests {unnamed} do not say {OF_CONNECT!r} in their names")
    # Those that start a Spark of their own take longest: they come first, so that workers of xdist
    # end together.
    items.sort(key=lambda item: "spark" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give tests of Spark Connect to one worker of `make test-spark`, and others to any."""
    from tests.scheduling import OneServer  # environments without xdist have no such hook

    return OneServer(config, log) if config.getvalue("dist") == "loadgroup" else None


def set_spark_environment() -> None:
    """Set what a Spark session, here or in a child process, needs from the environment."""
    from tests.spark.class_archive import jvm_options  # it imports PySpark

    found = java.find()
    if found is None:
        pytest.fail(java.WHAT_TO_DO, pytrace=False)
    os.environ["JAVA_HOME"] = str(found.home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_SUBMIT_OPTS"] = jvm_options(found.home)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # a host name that does not resolve stops Spark
    # Python workers must find this package where it is not installed.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")])
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network: hatchling comes with the developers' tools."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=PROJECT, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def spark_zip(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make zip` builds."""
    target = tmp_path_factory.mktemp("zip") / "hudi_pyspark.zip"
    written: Path = load("spark_zip").write_zip(wheel, target)
    return written


@pytest.fixture(scope="session")
def spark_environment() -> None:
    """For tests that start a Spark of their own in a child process."""
    set_spark_environment()


@pytest.fixture(scope="session")
def connect_port(spark_environment: None) -> Iterator[str]:  # noqa: ARG001
    """The port of a Connect server that all tests share; each makes its own sessions."""
    from tests.spark.deployment import connect_server

    with connect_server() as port:
        yield port


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A classic local session without any jar, shared by all tests."""
    from pyspark.sql import SparkSession

    set_spark_environment()
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.hudi-py.optimizer.enabled", "false")  # its tests have sessions of their own
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def shared_session_is_active(request: pytest.FixtureRequest) -> None:
    """Make the shared session the active one again before each test of Spark.

    ``createDataFrame`` of another session makes that session the active one of the JVM's thread.
    Spark's own ``listTables`` decodes its rows with the settings of the active session: after a
    test whose session compiles no expressions, each later test would fail there.
    """
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        session._jvm.SparkSession.setActiveSession(session._jsparkSession)


@pytest.fixture(scope="session")
def golden_table(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Base path of a golden table by the name of its case; unzipped once, so only for reading."""

    @cache
    def unzip(case: str) -> Path:
        folder = tmp_path_factory.mktemp(case)
        root = GOLDEN.with_name("golden_extra") if case.startswith("x_") else GOLDEN
        with zipfile.ZipFile(root / case / "table.zip") as archive:
            archive.extractall(folder)
        return folder / case

    return unzip
