"""Sessions of Spark with Apache Hudi's bundles, which Maven gets from Maven Central."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from verification.common.data import load_data

JAVA_CLIENT = "hudi-java-client"
LOG = "spark.log"
_SETTINGS = load_data(__file__, "session.toml")
COMPILED: Mapping[str, str] = _SETTINGS["compiled"]
_HADOOP = "spark.hadoop."
_HADOOP_FILES = tuple(
    f"{part}-{kind}.xml"
    for part in ("core", "hdfs", "mapred", "yarn")
    for kind in ("default", "site")
)


def start_session(
    hudi: str, folder: str, settings: Mapping[str, str] | None = None, *, libraries: str = ""
) -> SparkSession:
    """Start Spark with a release of Apache Hudi, and further artifacts of it with commas between.

    The process works in the folder from then on.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.chdir(folder)
    java = (
        f"-Duser.timezone=UTC -XX:ErrorFile={folder}/hs_err_%p.log "
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g -Xmn500m"
    )
    given = {
        **_SETTINGS["all"],
        **(_SETTINGS["0.12"] if hudi.startswith("0.12.") else {}),
        "spark.jars": ",".join(map(str, jars_of(hudi, libraries))),
        "spark.driver.extraJavaOptions": java,
        "spark.driver.extraClassPath": _hadoop_settings(folder),
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        **(settings or {}),
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in given.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@contextmanager
def scratch_session(
    hudi: str, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[SparkSession, Path]]:
    """Start Spark in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(hudi, folder, settings)
        yield spark, Path(folder)
        spark.stop()


def _hadoop_settings(folder: str) -> str:
    """Make a folder for the class path that replaces Hadoop's 900 defaults by no settings.

    They are parsed for every configuration and serialised for every task; code has them, too.
    """
    found = Path(folder) / "hadoop"
    found.mkdir(exist_ok=True)
    for name in _HADOOP_FILES:
        (found / name).write_text("<configuration/>")
    return str(found)


def jars_of(hudi: str, libraries: str = "") -> list[Path]:
    """The jars of a release's bundle for Spark, and of further artifacts with commas between."""
    spark = "3.3" if hudi.startswith("0.12.") else "3.5"
    names = [f"hudi-spark{spark}-bundle_2.12", *libraries.split(",")]
    return [_jar(hudi, name) for name in names if name]


def _jar(hudi: str, name: str) -> Path:
    """Return a jar in the local Maven repository, which Maven fills where it is missing."""
    home = Path("~/.m2/repository/org/apache/hudi").expanduser()
    jar = home / name / hudi / f"{name}-{hudi}.jar"
    if not jar.is_file():
        artifact = f"org.apache.hudi:{name}:{hudi}"
        print(f"Getting {artifact} from Maven Central into {jar} ...", flush=True)
        run_maven("get", f"-Dartifact={artifact}", "-Dtransitive=false")
    if not jar.is_file():
        raise SystemExit(f"Maven got {artifact}, but there is no {jar}")
    return jar


def run_maven(goal: str, *arguments: str) -> None:
    """Let Maven's plugin for dependencies do something."""
    maven = shutil.which("mvn")
    if maven is None:
        raise SystemExit(
            "Install Maven (sudo apt-get install -y maven), or get what is missing by hand from "
            "https://repo1.maven.org/maven2/org/apache/hudi/"
        )
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
    subprocess.run([maven, "-q", "-B", *arguments, f"{plugin}:{goal}"], check=True)


@contextmanager
def settings_of(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Have settings for a while, of the session or, with ``spark.hadoop.`` before, of Hadoop."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    own = {key: value for key, value in settings.items() if not key.startswith(_HADOOP)}
    of_hadoop = {k.removeprefix(_HADOOP): settings[k] for k in settings if k not in own}
    before = {key: spark.conf.get(key, None) for key in own}
    try:
        for key, value in own.items():
            spark.conf.set(key, value)
        for key, value in of_hadoop.items():
            hadoop.set(key, value)
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)
        for key in of_hadoop:
            hadoop.unset(key)
