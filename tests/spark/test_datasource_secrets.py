"""Secrets and short-lived credentials in a Spark of their own, whose every output is searched."""

import subprocess
import sys
import textwrap

import pytest

from hudi_pyspark.imported_function import ALLOWED
from tests.conftest import PROJECT
from tests.storage import short_lived
from tests.storage.s3_server import serve

pytestmark = pytest.mark.spark

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
SECRET = "a-very-secret-key"
JOB = """
    import logging, sys
    from pyspark.sql import SparkSession
    import hudi_pyspark

    endpoint, events = sys.argv[1:]
    logging.basicConfig(stream=sys.stdout)
    logging.getLogger("hudi_pyspark").setLevel(logging.DEBUG)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events)
        .config("spark.eventLog.compress", "false")
        .config("spark.log.level", "INFO")
        .config("spark.sql.pyspark.worker.logging.enabled", "true")
        .getOrCreate()
    )
    hudi_pyspark.register(spark)
    path = "s3://lake/v9_mor_compaction_inline"
    place = {"storage.endpoint_override": endpoint, "storage.region": "eu-north-1"}
    given = {"storage.access_key": "AKID", "storage.secret_key": "a-very-secret-key"}
    provided = {"credentials_provider": "tests.storage.short_lived:issue"}
    for options in ({**place, **given}, {**place, **provided}):
        reader = spark.read.format("hudi-py").options(**options, task_bytes="1")
        orders = reader.load(path)
        for how in ("extended", "formatted", "cost"):
            orders.explain(mode=how)
        for _ in range(2):
            print("ROWS", len(orders.collect()), "PARTITIONS", orders.rdd.getNumPartitions())
        print(repr(orders), repr(reader))
        bare = {k.removeprefix("storage."): v for k, v in options.items()}
        table = hudi_pyspark.HudiTable(path, storage_options=bare)
        print(repr(table), repr(table.storage), table.scan().explain(), repr(table.scan()))
        for broken in ({"regoin": "x"}, {"endpoint_override": "http://127.0.0.1:1"}):
            wrong = {f"storage.{name}": value for name, value in broken.items()}
            try:
                wrong = {**options, **wrong, "storage.attempts": "1"}
                spark.read.format("hudi-py").options(**wrong).load(path).collect()
            except Exception as error:
                print("ERROR", error)
    spark.stop()
"""


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


@pytest.mark.usefixtures("spark_environment")
def test_secrets_are_shown_nowhere_and_every_process_gets_tokens(tmp_path, s3, monkeypatch):
    script, events, calls = (tmp_path / name for name in ("job.py", "events", "calls"))
    script.write_text(textwrap.dedent(JOB), encoding="utf-8")
    events.mkdir()
    monkeypatch.setenv(short_lived.CALLS, str(calls))
    monkeypatch.setenv(short_lived.LIFETIME, "2")
    monkeypatch.setenv(ALLOWED, short_lived.__name__)
    s3.accepts = lambda token: not token or short_lived.is_valid(token)
    done = subprocess.run(
        [sys.executable, str(script), s3.endpoint, events.as_uri()],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    printed = done.stdout + done.stderr
    logs = {str(f): f.read_text("utf-8") for f in events.rglob("*") if f.is_file()}
    assert printed.count(f"ROWS {ROWS}") == 4
    assert SECRET in JOB  # so that it has something to show
    for text in ("BatchScan hudi-py", "did you mean region", "HUDI_STORAGE"):
        assert text in printed
    assert any("SparkListenerSQLExecutionStart" in text for text in logs.values())
    processes = {line.split()[0] for line in calls.read_text(encoding="utf-8").splitlines()}
    assert len(processes) >= 3  # the driver, a process that plans, a worker
    assert len(s3.tokens - {""}) >= 3
    for place, text in {"output": printed, **logs}.items():
        for secret in (SECRET, short_lived.SECRET, "token-1"):
            assert secret not in text, (place, secret)


FAILURES = """
    import json, sys
    import hudi_pyspark

    how, place, endpoint, secret = sys.argv[1:]
    good = {"endpoint_override": endpoint, "region": "eu-north-1", "attempts": "1"}
    good |= {"access_key": "AKID", "secret_key": secret}
    uri = f"http://me:{secret}@127.0.0.1:1"
    azure = "abfss://box@acme.dfs.core.windows.net/t"
    plain = {"blob_storage_scheme": "http", "blob_storage_authority": "127.0.0.1:1"}
    cases = {
        "mistyped": ("s3://lake/t", {**good, "acess_key": secret}),
        "none there": ("s3://lake/none", good),
        "wrong type": ("s3://lake/t", {**good, "anonymous": secret}),
        "bad number": ("s3://lake/t", {**good, "connect_timeout": secret}),
        "bad attempts": ("s3://lake/t", {**good, "attempts": secret}),
        "two names": ("s3://lake/t", {**good, "fs.s3a.secret.key": f"{secret}2"}),
        "unreachable": ("s3://lake/t", {**good, "endpoint_override": "http://127.0.0.1:1"}),
        "user in endpoint": ("s3://lake/t", {**good, "endpoint_override": uri}),
        "proxy": ("s3://lake/t", {**good, "proxy_options": uri}),
        "proxy's form": ("s3://lake/t", {**good, "proxy_options": f"me:{secret}@host"}),
        "account key": (azure, {"account_key": secret}),
        "signature": (azure, {"sas_token": f"sv=1&sig={secret}&se=2", "attempts": "1", **plain}),
        "token": (azure, {"tenant_id": "t", "client_id": "c", "client_secret": secret, **plain}),
    }
    if how == "none":
        read = lambda uri, options: hudi_pyspark.HudiTable(uri, storage_options=options).to_arrow()
    else:
        from pyspark.sql import SparkSession
        builder = SparkSession.builder
        if how == "connect":
            spark = builder.remote(f"sc://127.0.0.1:{place}").getOrCreate()
        else:
            builder = builder.master("local[2]").config("spark.eventLog.dir", place)
            builder = builder.config("spark.eventLog.enabled", "true")
            spark = builder.config("spark.eventLog.compress", "false").getOrCreate()
        hudi_pyspark.register(spark)
        def read(uri, options):
            given = {name if "." in name else f"storage.{name}": v for name, v in options.items()}
            frame = spark.read.format("hudi-py").options(**given)
            return frame.load(uri).collect()
    for name, (uri, options) in cases.items():
        try:
            read(uri, options)
        except Exception as error:
            print("FAILED", name, f"{type(error).__name__}: {error}")
"""


@pytest.mark.usefixtures("spark_environment")
@pytest.mark.parametrize(
    "how",
    [
        "none",
        pytest.param("classic", marks=pytest.mark.cluster),
        pytest.param("connect", marks=pytest.mark.cluster),
    ],
)
def test_no_failure_shows_a_secret(how, tmp_path, s3, request):
    secret = "Zm9vYmFyYmF6cXV4"  # also Base64, of a length that Azure's client takes
    events = tmp_path / "events"
    events.mkdir()
    # The event log of a server has the plans that clients send, with all options: docs/storage.md
    # says so.
    place = request.getfixturevalue("connect_port") if how == "connect" else events.as_uri()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FAILURES), how, place, s3.endpoint, secret],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("FAILED ") == 13, done.stdout
    logs = {str(f): f.read_text("utf-8") for f in events.rglob("*") if f.is_file()}
    if how == "classic":
        assert any("SparkListenerApplicationStart" in text for text in logs.values())
    for where, text in {"output": done.stdout, "errors": done.stderr, **logs}.items():
        assert secret not in text, (where, text[max(0, text.find(secret) - 500) :][:1000])


@pytest.mark.usefixtures("spark_environment")
def test_settings_of_hadoop_become_storage_options(spark, s3):
    from hudi_pyspark import storage_options_from_spark

    settings = {
        "fs.s3a.access.key": "general",
        "fs.s3a.bucket.lake.access.key": "AKID",
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": s3.endpoint.removeprefix("http://"),
        "fs.s3a.endpoint.region": "eu-north-1",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.azure.account.key.acme.dfs.core.windows.net": "a2V5",
        "fs.azure.account.oauth2.client.endpoint": "https://login.example/tenant-1/oauth2/token",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        found = storage_options_from_spark(spark, f"s3a://lake/{MOR}")
        assert found == {
            "fs.s3a.access.key": "AKID",
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.endpoint": s3.endpoint,
            "fs.s3a.endpoint.region": "eu-north-1",
        }
        frame = spark.read.format("hudi-py").options(**found).load(f"s3a://lake/{MOR}")
        assert frame.count() == ROWS
        assert s3.credentials == {"AKID eu-north-1"}
        azure = storage_options_from_spark(spark, "abfss://box@acme.dfs.core.windows.net/t")
        assert azure == {"adls.account-key": "a2V5", "adls.tenant-id": "tenant-1"}
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_table_of_a_catalog_is_read_by_name(spark, golden_table):
    from tests.catalogs.rest_server import serve_catalog

    found = {"storage_location": str(golden_table(MOR)), "table_id": "1"}
    with serve_catalog("token-of-the-catalog") as catalog:
        key = "GET /api/2.1/unity-catalog/tables/main.sales.orders"
        catalog.answers = {key: lambda _: (200, found)}
        reader = (
            spark.read.format("hudi-py")
            .option("table", "main.sales.orders")
            .option("catalog.type", "unity")
            .option("catalog.uri", catalog.uri)
            .option("catalog.token", "token-of-the-catalog")
        )
        assert reader.load().count() == ROWS
        assert reader.option("inspect", "timeline").load().count() > 0
        with pytest.raises(Exception, match=r"\[HUDI_CATALOG\]") as caught:
            reader.option("catalog.token", "wrong-token").load()
        assert "wrong-token" not in str(caught.value)
