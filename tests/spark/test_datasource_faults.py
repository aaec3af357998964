"""What each fault of a store leads to in Spark: batches and streams, classic and over Connect.

Each case has a proxy, which fails the requests of one step of the read: for ever, or once.
"""

import json
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack

import pytest

from tests.conftest import PROJECT
from tests.storage.faulty_proxy import BODIES, NONE, fail_between
from tests.storage.s3_server import serve

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
SECRET = "a-very-secret-key"
SETTING = "raise the storage option attempts (2 attempts)"
REFUSED = "Check the storage options"
# Fault of every request of a step, and the text of the error.
FOREVER = {
    ("503", "open"): SETTING,
    ("503", "plan"): SETTING,
    ("503", "scan"): SETTING,
    ("429", "scan"): SETTING,
    ("500", "open"): "(2 attempts)",
    ("500", "plan"): "(2 attempts)",
    ("500", "scan"): "(2 attempts)",
    ("reset", "open"): "(2 attempts)",
    ("reset", "scan"): "(2 attempts)",
    ("403", "open"): REFUSED,
    ("403", "plan"): REFUSED,
    ("403", "scan"): REFUSED,
    ("401", "scan"): REFUSED,
    ("404", "scan"): "not on the storage",
    ("zeros", "open"): "hoodie.properties",
    ("zeros", "scan"): "HUDI_CORRUPT",
    ("short", "open"): "fewer than",
    ("short", "scan"): "fewer than",
    ("cut", "scan"): "(2 attempts)",
}
# Faults of one request: the rows come.
ONCE = {
    (fault, step)
    for fault in ("503", "500", "reset", "cut", "short", "zeros")
    for step in ("open", "scan")
} | {(fault, "plan") for fault in ("503", "reset", "empty", "html")}
JOB = """
    import json, sys, time
    import hudi_pyspark
    from pyspark.sql import SparkSession

    how, place, cases = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    builder = SparkSession.builder
    if how == "connect":
        spark = builder.remote(f"sc://127.0.0.1:{place}").getOrCreate()
    else:
        builder = builder.master("local[2]").config("spark.eventLog.dir", place)
        builder = builder.config("spark.eventLog.enabled", "true").config("spark.ui.enabled", False)
        spark = builder.config("spark.eventLog.compress", "false").getOrCreate()
    hudi_pyspark.register(spark)

    def batch(options, name):
        return spark.read.format("hudi-py").options(**options).load(PATH).count()

    def stream(options, name):
        table = spark.readStream.format("hudi-py").options(**options).load(PATH)
        sink = table.writeStream.format("memory").queryName(name).outputMode("append")
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        return spark.table(name).count()

    PATH = "s3://lake/v9_mor_compaction_inline"
    for number, (mode, endpoint) in enumerate(cases):
        options = {"access_key": "AKID", "secret_key": "a-very-secret-key", "attempts": "2"}
        options |= {"region": "eu-north-1", "endpoint_override": endpoint}
        options = {f"storage.{name}": value for name, value in options.items()}
        started = time.monotonic()
        try:
            read = stream if mode == "stream" else batch
            found = read({**options, "use_metadata_table": "false"}, f"t{number}")
        except Exception as error:
            found = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"CASE {number} {time.monotonic() - started:.1f} {found}", flush=True)
    spark.stop()
"""


class Failing:
    """The faults of a case: all of a step, or the first one."""

    def __init__(self, fault, step, *, once):
        self.fault = fault
        self.step = step
        self.once = once
        self.failed = 0
        self.of_schema = ""  # the first data file that is asked for: while planning

    def __call__(self, _, request):
        if self.fault in BODIES:
            is_failing = request.kind == "LIST"
        else:
            is_failing = request.kind != "HEAD" or self.fault.isdigit() or self.fault == "reset"
        if not is_failing or not self._is_of_step(request) or (self.once and self.failed):
            return NONE
        self.failed += 1
        return self.fault

    def _is_of_step(self, request):
        if self.step == "scan":
            is_data = "/.hoodie" not in request.path and request.kind == "GET"
            self.of_schema = self.of_schema or (request.path if is_data else "")
            return is_data and request.path != self.of_schema
        if self.step == "plan":  # the folders of partitions, or else the timeline of a stream
            return request.kind == "LIST"
        return request.path.endswith("hoodie.properties")


def run_job(port, cases, folder, s3, stack):
    """Read through a proxy for each case; return its faults, and what came of it.

    Args:
        port: of a Connect server, or "" for a classic session.
        cases: mode, fault, step, and whether one request fails or all.
        folder: for the event log of a classic session.
        s3: the store.
        stack: ends the proxies.
    """
    how = "connect" if port else "classic"
    events = folder / "events"
    events.mkdir()
    place = port or events.as_uri()
    faults = [Failing(fault, step, once=once) for _, fault, step, once in cases]
    proxies = [stack.enter_context(fail_between(s3.endpoint, of_case)) for of_case in faults]
    asked = [[case[0], proxy.endpoint] for case, proxy in zip(cases, proxies, strict=True)]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(JOB), how, place, json.dumps(asked)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=1_500,
        check=False,
    )
    printed = done.stdout + done.stderr
    lines = [line.split(" ", 3) for line in done.stdout.splitlines() if line.startswith("CASE ")]
    assert len(lines) == len(cases), printed[-3000:]
    logs = [f.read_text("utf-8") for f in events.rglob("*") if f.is_file()]
    # That of a server has the plans that clients send, with all options: docs/storage.md says so.
    assert port or any("SparkListenerApplicationStart" in text for text in logs)
    for text in (printed, *logs):
        assert SECRET not in text, text[max(0, text.find(SECRET) - 500) :][:1000]
    return [
        (of_case, proxy.requests, float(seconds), found)
        for of_case, proxy, (_, _, seconds, found) in zip(faults, proxies, lines, strict=True)
    ]


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


def check(port, cases, folder, s3):
    started = time.monotonic()
    with ExitStack() as stack:
        results = run_job(port, cases, folder, s3, stack)
    wrong = []
    for case, (of_case, requests, seconds, found) in zip(cases, results, strict=True):
        _, fault, step, once = case
        expected = str(ROWS) if once else FOREVER[fault, step]
        is_right = found == expected if once else expected in found
        is_named = once or "HUDI_" in found
        sys.stdout.write(f"{case}: {of_case.failed} of {requests} failed, {seconds} s, {found}\n")
        # One case costs few requests: two attempts, of at most two readers of each file.
        if not (is_right and is_named and of_case.failed and requests < 300):
            wrong.append((case, of_case.failed, requests, seconds, found[:600]))
    assert not wrong, (time.monotonic() - started, wrong)


@pytest.fixture(params=["classic", "connect"])
def port(request, spark_environment):  # noqa: ARG001
    """The port of the Connect server that tests share, or "" for a classic session."""
    return request.getfixturevalue("connect_port") if request.param == "connect" else ""


@pytest.mark.cluster
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_every_fault_of_a_store(port, mode, tmp_path, s3):
    cases = [(mode, *case, False) for case in FOREVER]
    cases += [(mode, *case, True) for case in sorted(ONCE)]
    check(port, cases, tmp_path, s3)
