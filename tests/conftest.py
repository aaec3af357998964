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

from tests.emptied_state import forget_messages
from tests.process_state import changes, state_that_tests_share
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


def spark_variables() -> dict[str, str]:
    """Return the variables that a Spark session needs, here or in a child process."""
    from tests.spark.class_archive import jvm_options  # it imports PySpark

    found = java.find()
    if found is None:
        pytest.fail(java.WHAT_TO_DO, pytrace=False)
    # Python workers must find this package where it is not installed.
    path = [str(PROJECT), os.environ.get("PYTHONPATH", "")]
    return {
        "JAVA_HOME": str(found.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": jvm_options(found.home),
        "SPARK_LOCAL_IP": "127.0.0.1",  # a host name that does not resolve stops Spark
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }


def set_spark_environment() -> None:
    """Set these variables in a program; tests have the fixture `spark_environment`."""
    os.environ.update(spark_variables())


@pytest.fixture(scope="session", autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep outcomes of merges out of the user's folder, where other runs would find them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        yield


@pytest.fixture(autouse=True)
def leaves_the_process_as_it_is(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that changes what other tests see of the process, in whatever order they run."""
    if any(request.node.get_closest_marker(name) for name in ("spark", "cluster")):
        request.getfixturevalue("spark_environment")
    forget_messages()
    before = state_that_tests_share()
    yield
    left = changes(before, state_that_tests_share())
    if left:
        pytest.fail("The test changed, for those that run after it, " + "; ".join(left))


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
def spark_environment() -> Iterator[None]:
    """Variables for all tests of Spark, here and in child processes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_variables().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def connect_port(
    spark_environment: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The port of a Connect server that all tests share; each makes its own sessions.

    The server runs in a folder of its own, where its warehouse is.
    """
    from tests.spark.deployment import connect_server

    with connect_server(cwd=tmp_path_factory.mktemp("connect")) as port:
        yield port


@pytest.fixture(scope="session")
def first_session(
    spark_environment: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SparkSession]:
    """A classic local session without any jar, from which tests and modules make their own."""
    from pyspark.sql import SparkSession

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


@pytest.fixture
def spark(first_session: SparkSession) -> Iterator[SparkSession]:
    """A session of the test alone: its settings, views, functions and sources end with the test.

    It is the active one of the JVM's thread: Spark's own ``listTables`` decodes its rows with the
    settings of the active session, and ``createDataFrame`` of any session makes that one active.
    Databases and tables, which all sessions share, the test has to drop.
    """
    from tests.spark.shared_state import (
        drop_global_views_and_caches,
        make_active,
        state_that_sessions_share,
    )

    before = state_that_sessions_share(first_session)
    session = first_session.newSession()
    make_active(session)
    yield session
    make_active(first_session)
    drop_global_views_and_caches(first_session)
    left = changes(before, state_that_sessions_share(first_session))
    if left:
        pytest.fail("The test changed, for all sessions, " + "; ".join(left))


@pytest.fixture(scope="session")
def golden_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """Base path of a golden table by the name of its case; unzipped once, so only for reading."""
    unzipped: dict[Path, dict[Path, tuple[int, int]]] = {}

    @cache
    def unzip(case: str) -> Path:
        folder = tmp_path_factory.mktemp(case)
        root = GOLDEN.with_name("golden_extra") if case.startswith("x_") else GOLDEN
        with zipfile.ZipFile(root / case / "table.zip") as archive:
            archive.extractall(folder)
        table = folder / case
        unzipped[table] = files_in(table)
        return table

    yield unzip
    written = [path for table, were in unzipped.items() for path in changed_in(table, were)]
    assert written == [], "a test has written into a table that tests share"


def files_in(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return size and time of each file, so that a later look tells what was written."""
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {path: (state.st_size, state.st_mtime_ns) for path, state in found.items()}


def changed_in(folder: Path, were: dict[Path, tuple[int, int]]) -> list[Path]:
    """Return the files that were made, changed or deleted since then."""
    return sorted({path for path, _ in were.items() ^ files_in(folder).items()})
