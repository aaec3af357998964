"""An archive of Spark's classes, from which a JVM starts in two thirds of the time.

python -m tests.spark.class_archive   write the archive of this Java and this Spark, if none exists

Without it the tests take longer. A JVM of another Java refuses the archive: its name depends on the
Java and the Spark that wrote it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import pyspark

from tests.project.ci_java import java

PROJECT = Path(__file__).resolve().parents[2]
TABLE = PROJECT / "examples" / "data" / "orders.zip"
# JVMs of tests live for seconds, and less compilation takes less time. Without its second level a
# JVM has 48 MB for compiled code. A few hundred queries fill them, and then it compiles no more.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
# What most tests do first, so that the classes that it needs are in the archive.
JOB = """
import shutil, sys
from pyspark.sql import SparkSession
import hudi_pyspark

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
hudi_pyspark.register(spark)
shutil.unpack_archive(sys.argv[1], sys.argv[2])
table = spark.read.format("hudi-py").load(f"{sys.argv[2]}/orders")
assert len(table.where("ts > 0").sort("id").collect()) > 0
spark.stop()
"""


def archive_of(java_home: Path) -> Path:
    """Return where the archive of a Java and of this Spark is, or would be."""
    release = java_home / "release"
    known = [str(java_home.resolve()), pyspark.__version__, str(Path(pyspark.__file__).resolve())]
    known.append(release.read_text("utf-8") if release.is_file() else "")
    name = sha256("\0".join(known).encode()).hexdigest()[:16]
    return PROJECT / "build" / f"spark-classes-{name}.jsa"


def jvm_options(java_home: Path) -> str:
    """Return the options of the JVMs of tests, with the archive if there is one."""
    archive = archive_of(java_home)
    if not archive.is_file() or " " in str(archive):
        return QUICK_JVM
    return f"{QUICK_JVM} -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"


def write(java_home: Path) -> None:
    """Run a Spark whose JVM writes the archive at its end; leave none if that fails."""
    archive = archive_of(java_home)
    archive.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        written = Path(folder, "classes.jsa")
        options = f"{QUICK_JVM} -XX:ArchiveClassesAtExit={written} -Xlog:cds=off"
        more = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        more |= {"JAVA_HOME": str(java_home), "PYTHONPATH": str(PROJECT)}
        done = subprocess.run(
            [sys.executable, "-c", JOB, str(TABLE), folder],
            env={**os.environ, **more, "SPARK_SUBMIT_OPTS": options},
            capture_output=True,
            check=False,
        )
        if done.returncode == 0 and written.is_file():
            written.replace(archive)


if __name__ == "__main__":
    found = java.find()
    if found is not None and not archive_of(found.home).is_file():
        write(found.home)
