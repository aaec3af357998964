"""Apache Hudi's bundles for Spark and its Java client, from Maven Central."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

JAVA_CLIENT = "hudi-java-client"


def bundle(hudi: str, name: str = "") -> Path:
    """The jar of a release in the local Maven repository, which Maven fills where it is missing."""
    spark = "3.3" if hudi.startswith("0.12.") else "3.5"
    name = name or f"hudi-spark{spark}-bundle_2.12"
    home = Path("~/.m2/repository/org/apache/hudi").expanduser()
    jar = home / name / hudi / f"{name}-{hudi}.jar"
    if not jar.is_file():
        _get(hudi, name, jar)
    return jar


def _get(hudi: str, name: str, jar: Path) -> None:
    artifact = f"org.apache.hudi:{name}:{hudi}"
    maven = shutil.which("mvn")
    if maven is None:
        raise SystemExit(
            f"There is no {jar}. Install Maven (sudo apt-get install -y maven), or put the jar of "
            f"{artifact} there by hand: https://repo1.maven.org/maven2/org/apache/hudi/{name}/{hudi}/"
        )
    print(f"Getting {artifact} from Maven Central ...", flush=True)
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
    subprocess.run(
        [maven, "-q", "-B", goal, f"-Dartifact={artifact}", "-Dtransitive=false"], check=True
    )
    if not jar.is_file():
        raise SystemExit(f"Maven got {artifact}, but there is no {jar}")
