"""`make cluster-demo`: a cluster of processes, cut off from the network, and a table on S3."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import PROJECT


@pytest.mark.cluster
@pytest.mark.usefixtures("spark_environment")
def test_every_way_to_send_the_package_gives_the_rows_of_apache_hudi(wheel, spark_zip, tmp_path):
    for file in (wheel, spark_zip):
        shutil.copy(file, tmp_path)
    command = [sys.executable, "-m", "verification.cluster", "--dist", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert re.findall(r"\d+ rows: (.*) \(", said) == ["the rows of Apache Hudi"] * 4
    sent = re.findall(r"package of executors: .*(hudi_pyspark\.zip|environment)/", said)
    assert set(sent) == {"hudi_pyspark.zip", "environment"}
    assert "refused by Spark: Cluster deploy mode is currently not supported for python" in said
    if "permits no network" not in said:
        assert set(re.findall(r"network of executors: (.*)", said)) == {"loopback alone"}
