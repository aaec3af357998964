"""The lines for Kubernetes in docs/platforms.md make pods that Kubernetes' schema allows.

There is no cluster: a small server answers spark-submit as the API does, and keeps what it is sent.
"""

import json
import os
import re
import shlex
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from tests.conftest import PROJECT
from tests.spark.deployment import SPARK_HOME

validate = pytest.importorskip("kubernetes_validate").validate

KUBERNETES = ("1.31", "1.36")
FOLDER = PROJECT / "spark-conf" / "kubernetes"
PAGE = (PROJECT / "docs" / "platforms.md").read_text(encoding="utf-8")


SENT: list[dict[str, Any]] = []


class Api(BaseHTTPRequestHandler):
    """Accepts objects, gives each a uid, and finds none before."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        SENT.append(json.loads(json.dumps(body)))
        body.setdefault("metadata", {}).update(uid="1", resourceVersion="1")
        self._answer(201, body)

    def do_PATCH(self):
        self.do_POST()

    def do_GET(self):
        self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

    def _answer(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def api():
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        SENT.clear()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def submitted() -> list[str]:
    """The words of the command of the page."""
    (block,) = re.findall(r"^```sh\n(spark-submit --master k8s:.*?)^```", PAGE, re.M | re.S)
    return shlex.split(block.replace("\\\n", ""))


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", ["driver", "executor"])
def test_pod_template_satisfies_the_schema(name, version):
    template = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    assert template["spec"]["containers"][0]["name"] == f"spark-kubernetes-{name}"
    template["spec"]["containers"][0]["image"] = "of Spark's settings"
    validate(template, version, strict=True)


@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
def test_command_of_the_page_makes_a_driver_that_satisfies_the_schema(api, tmp_path):
    command = submitted()
    command[0] = str(SPARK_HOME / "bin" / "spark-submit")
    command[2] = f"k8s://http://127.0.0.1:{api.server_port}"
    command[3:3] = ["--conf", "spark.kubernetes.submission.waitAppCompletion=false"]
    config = {**os.environ, "KUBECONFIG": str(tmp_path / "none")}
    done = subprocess.run(
        command, cwd=PROJECT, env=config, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]

    (pod,) = [sent for sent in SENT if sent["kind"] == "Pod"]
    for version in KUBERNETES:
        validate(pod, version, strict=True)
    spec = pod["spec"]
    (driver,) = spec["containers"]
    variables = {entry["name"]: entry.get("value") for entry in driver["env"]}
    assert driver["image"] == "registry.example.com/hudi-pyspark:1"
    assert spec["serviceAccountName"] == "spark"
    assert spec["securityContext"]["runAsUser"] == 185
    assert variables["AWS_REGION"] == "eu-north-1"
    assert variables["PYSPARK_PYTHON"] == "/opt/venv/bin/python"
    # The template of executors goes along, and the driver reads it there.
    maps = [sent for sent in SENT if sent["kind"] == "ConfigMap"]
    (executor,) = [
        text
        for sent in maps
        for text in sent["data"].values()
        if "name: spark-kubernetes-executor" in text
    ]
    assert yaml.safe_load(executor)["spec"]["volumes"][0]["name"] == "spark-local-dir-1"
