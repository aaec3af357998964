"""Tables by their names in catalogs, and the credentials that these vend."""

import json
import pickle
import threading
import time
from functools import partial
from importlib.util import find_spec
from socket import SHUT_RDWR

import pytest

from hudi_pyspark import CatalogError, HudiTable, InvalidOptionError, thresholds
from hudi_pyspark.catalogs import find_table
from hudi_pyspark.catalogs.catalog_table import CatalogTable
from hudi_pyspark.catalogs.entry_columns import EntryColumns
from hudi_pyspark.reading.read_task import read_task
from tests.catalogs.rest_server import serve_catalog
from tests.cli.command import in_process
from tests.damage import unpack
from tests.emptied_state import empty
from tests.storage import servers, short_lived
from tests.storage.clock import Clock
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
TOKEN = "very-secret-token"
UNITY_TABLE = "GET /api/2.1/unity-catalog/tables/main.sales.orders"
UNITY_CREDENTIALS = "POST /api/2.1/unity-catalog/temporary-table-credentials"
POLARIS_TABLE = "GET /api/catalog/polaris/v1/main/namespaces/eu%1Fsales/generic-tables/orders"
POLARIS_TOKEN = "POST /api/catalog/v1/oauth/tokens"


@pytest.fixture
def catalog():
    with serve_catalog(TOKEN) as server:
        yield server


@pytest.fixture
def s3(golden_table, monkeypatch):
    empty(monkeypatch, "credentials")
    monkeypatch.setattr(thresholds, "FIRST_PAUSE", 0.001)
    with serve(golden_table(MOR).parent) as server:
        server.accepts = short_lived.is_valid
        yield server


def unity(catalog, lifetime):
    """Let the catalog know the table, and vend tokens for it."""

    def vend(body):
        assert body == {"table_id": "id-1", "operation": "READ"}
        end = time.time() + lifetime
        keys = {
            "access_key_id": "VENDED",
            "secret_access_key": "vended-secret",
            "session_token": f"token-{end}",
        }
        return 200, {"aws_temp_credentials": keys, "expiration_time": int(end * 1000)}

    found = {"storage_location": f"s3://lake/{MOR}", "table_id": "id-1"}
    catalog.answers = {UNITY_TABLE: lambda _: (200, found), UNITY_CREDENTIALS: vend}
    return {"type": "unity", "uri": catalog.uri, "token": TOKEN}


def polaris(catalog, lifetime):
    """Let Polaris know a generic table, and vend tokens for it."""

    def load(_):
        end = time.time() + lifetime
        config = {
            "s3.access-key-id": "VENDED",
            "s3.secret-access-key": "vended-secret",
            "s3.session-token": f"token-{end}",
            "s3.session-token-expires-at-ms": str(int(end * 1000)),
            "client.region": "eu-north-1",
        }
        wrong = {"s3.access-key-id": "OTHER"}
        return 200, {
            "table": {"name": "orders", "format": "hudi", "base-location": f"s3://lake/{MOR}"},
            "storage-credentials": [
                {"prefix": "s3://lake/", "config": wrong},
                {"prefix": f"s3://lake/{MOR}/", "config": config},
                {"prefix": "s3://elsewhere/very/long/prefix/of/another/table", "config": wrong},
            ],
        }

    catalog.answers = {POLARIS_TABLE: load}
    return {"type": "polaris", "uri": f"{catalog.uri}/api/catalog", "token": TOKEN}


NAMES = {unity: "main.sales.orders", polaris: "main.eu.sales.orders"}


@pytest.mark.parametrize("kind", NAMES)
def test_vended_credentials_are_renewed_while_the_table_is_read(catalog, s3, kind):
    settings = kind(catalog, lifetime=1)
    options = {"endpoint_override": s3.endpoint, "region": "eu-north-1"}
    table = HudiTable.from_catalog(NAMES[kind], settings, storage_options=options)
    end = time.time() + 2.2
    while time.time() < end:
        assert table.scan().count() == ROWS
    assert len(s3.tokens) >= 3
    assert s3.credentials == {"VENDED eu-north-1"}


@pytest.mark.parametrize("kind", NAMES)
def test_executors_ask_the_catalog_themselves(catalog, s3, kind):
    settings = kind(catalog, lifetime=600)
    options = {"endpoint_override": s3.endpoint, "region": "eu-north-1"}
    scan = HudiTable.from_catalog(NAMES[kind], settings, storage_options=options).scan()
    sent = pickle.dumps((scan.plan(), scan.storage))
    assert b"vended-secret" not in sent
    tasks, storage = pickle.loads(sent)
    assert sum(t.num_rows for task in tasks for t in read_task(task, storage)) == ROWS


def test_polaris_exchanges_a_secret_for_a_token(catalog, golden_table):
    def exchange(body):
        assert body["grant_type"] == "client_credentials"
        is_known = (body["client_id"], body["client_secret"]) == ("id", "client-secret")
        return (200, {"access_token": TOKEN}) if is_known else (401, {"error": "invalid_client"})

    found = {"table": {"name": "orders", "base-location": str(golden_table(MOR))}}
    catalog.answers = {POLARIS_TABLE: lambda _: (200, found), POLARIS_TOKEN: exchange}
    catalog.open_to_all = {POLARIS_TOKEN}
    settings = {"type": "polaris", "uri": f"{catalog.uri}/api/catalog"}
    good = {**settings, "credential": "id:client-secret"}
    assert HudiTable.from_catalog("main.eu.sales.orders", good).scan().count() == ROWS
    with pytest.raises(CatalogError, match="401") as caught:
        HudiTable.from_catalog("main.eu.sales.orders", {**settings, "credential": "id:wrong-one"})
    assert "wrong-one" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ({"type": "polaris", "credential": "id:client-secret"}, "client-secret"),
        ({"type": "polaris", "token": TOKEN}, TOKEN),
        ({"type": "unity", "token": TOKEN}, TOKEN),
    ],
)
def test_redirect_of_a_catalog_carries_no_secret_to_another_host(catalog, kind, secret):
    with serve_catalog(TOKEN) as other:
        catalog.sends_on_to = other.uri
        with pytest.raises(CatalogError, match=f"on to {other.uri}.* as catalog.uri"):
            find_table("main.sales.orders", {**kind, "uri": catalog.uri})
    assert any(secret in sent for sent in catalog.sent)
    assert other.sent == []


def test_credentials_of_polaris_are_those_of_a_folder_above_the_table(catalog):
    vended = [
        {"prefix": "s3://lake", "config": {"s3.access-key-id": "of the lake"}},
        {"prefix": "s3://lake-2/t/", "config": {"s3.access-key-id": "of the table"}},
    ]
    found = {"table": {"base-location": "s3://lake-2/t"}, "storage-credentials": vended}
    catalog.answers = {POLARIS_TABLE: lambda _: (200, found)}
    settings = {"type": "polaris", "uri": f"{catalog.uri}/api/catalog", "token": TOKEN}
    provider = find_table("main.eu.sales.orders", settings).provider
    assert provider is not None
    assert provider.credentials("s3://lake-2/t") == {"s3.access-key-id": "of the table"}
    with pytest.raises(CatalogError, match="no credentials for s3://lake-22/t"):
        provider.credentials("s3://lake-22/t")


def test_settings_of_the_environment_are_used(catalog, golden_table, monkeypatch):
    found = {"storage_location": str(golden_table(MOR)), "table_id": "1"}
    catalog.answers = {UNITY_TABLE: lambda _: (200, found)}
    monkeypatch.setenv("HOODIE_ENV_catalog_DOT_token", TOKEN)
    table = HudiTable.from_catalog("main.sales.orders", {"type": "unity", "uri": catalog.uri})
    assert table.scan().count() == ROWS


@pytest.mark.parametrize("status", [429, 500, 503])
def test_catalog_that_fails_is_asked_again(catalog, golden_table, monkeypatch, status):
    monkeypatch.setattr("hudi_pyspark.storage.retries.time", Clock())
    found = {"storage_location": str(golden_table(MOR)), "table_id": "1"}
    failures: list[tuple[int, dict[str, str]]] = [(status, {})] * 2
    catalog.answers = {UNITY_TABLE: lambda _: failures.pop() if failures else (200, found)}
    settings = {"type": "unity", "uri": catalog.uri, "token": TOKEN}
    assert find_table("main.sales.orders", settings).location == str(golden_table(MOR))
    catalog.answers = {UNITY_TABLE: lambda _: (status, {})}
    with pytest.raises(CatalogError, match=str(status)):
        find_table("main.sales.orders", settings)


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("main.sales.missing", {}, "does not have http"),
        ("main.sales.orders", {"table_id": "1"}, "no location for main.sales.orders"),
    ],
)
def test_table_that_unity_cannot_name_is_refused(catalog, name, answer, problem):
    catalog.answers = {UNITY_TABLE: lambda _: (200, answer)}
    with pytest.raises(CatalogError, match=problem):
        find_table(name, {"type": "unity", "uri": catalog.uri, "token": TOKEN})


def test_refused_token_is_not_shown(catalog):
    catalog.answers = {UNITY_TABLE: lambda _: (200, {})}
    settings = {"type": "unity", "uri": catalog.uri, "token": "another-secret"}
    with pytest.raises(CatalogError, match="401") as caught:
        find_table("main.sales.orders", settings)
    assert "another-secret" not in str(caught.value)


def test_credentials_that_nobody_here_can_use_are_refused(catalog, s3):
    settings = unity(catalog, lifetime=600)
    catalog.answers[UNITY_CREDENTIALS] = lambda _: (200, {"azure_aad": {"aad_token": "x"}})
    with pytest.raises(CatalogError, match="it vends: azure_aad"):
        HudiTable.from_catalog(
            "main.sales.orders", settings, storage_options={"endpoint_override": s3.endpoint}
        )


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("a.b.c", {}, r"catalog\.type is ''; known: hive, glue, unity, polaris"),
        ("a.b.c", {"type": "nessie"}, "catalog.type is 'nessie'"),
        ("a.b", {"type": "glue", "regoin": "r"}, "catalog.regoin is unknown"),
        ("a.b", {"type": "unity", "uri": "http://h"}, r"have the form catalog\.schema\.table"),
        ("a..c", {"type": "unity", "uri": "http://h"}, r"have the form catalog\.schema\.table"),
        ("a.b.c", {"type": "unity"}, "catalog.uri is missing"),
        ("a.b", {"type": "polaris", "uri": "http://h"}, r"catalog\.namespace\.table"),
        ("a", {"type": "glue"}, r"\[catalog id\.\]database\.table"),
        ("a.b", {"type": "hive"}, "catalog.uri is missing"),
    ],
)
def test_incomplete_settings_are_refused(name, settings, problem):
    pytest.importorskip("pymetastore")
    with pytest.raises(InvalidOptionError, match=problem):
        find_table(name, settings)


@pytest.mark.parametrize("make", NAMES)
@pytest.mark.parametrize("table_format", ["DELTA", "iceberg", "HUDI", "PARQUET", ""])
def test_table_of_another_format_is_refused(catalog, make, table_format):
    settings = make(catalog, lifetime=600)
    for request, answer in catalog.answers.items():
        if request in (UNITY_TABLE, POLARIS_TABLE):
            catalog.answers[request] = partial(recorded_as, table_format, answer)
    if table_format in ("DELTA", "iceberg"):
        with pytest.raises(CatalogError, match=f"of the format {table_format}, not of Apache Hudi"):
            find_table(NAMES[make], settings)
    else:
        assert find_table(NAMES[make], settings).location


def recorded_as(table_format, answer, body):
    """An answer that records the format of a table."""
    status, text = answer(body)
    if "table" in text:
        return status, {**text, "table": {**text["table"], "format": table_format}}
    return status, {**text, "data_source_format": table_format}


def test_columns_of_unity(catalog):
    settings = unity(catalog, lifetime=600)
    given = catalog.answers[UNITY_TABLE]
    columns = [
        {"name": "region", "position": 0, "partition_index": 1, "comment": "where"},
        {"name": "id", "position": 1},
        {"name": "day", "position": 2, "partition_index": 0},
    ]

    def answer(body):
        status, text = given(body)
        return status, {**text, "columns": columns}

    catalog.answers[UNITY_TABLE] = answer
    found = find_table(NAMES[unity], settings).columns
    assert found == EntryColumns(("day", "region"), comments={"region": "where"})


def test_path_and_table_are_refused_together():
    with pytest.raises(InvalidOptionError, match="not both"):
        HudiTable._from_options({"path": "/t", "table": "a.b.c"})


@pytest.fixture(scope="module")
def glue():
    pytest.importorskip("boto3")
    with servers.moto() as server:
        yield str(server.options["endpoint_override"])


def glue_table(endpoint, monkeypatch, name, location, serde, **more):
    import boto3

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    client = boto3.client("glue", region_name="us-east-1", endpoint_url=endpoint)
    if not client.get_databases()["DatabaseList"]:
        client.create_database(DatabaseInput={"Name": "sales"})
    storage = {"Location": location, "SerdeInfo": {"Parameters": serde}} if location else {}
    storage |= {name: more.pop(name) for name in ("InputFormat", "Columns") if name in more}
    given = {"Name": name, "StorageDescriptor": storage, **more}
    client.create_table(DatabaseName="sales", TableInput=given)
    return {"type": "glue", "uri": endpoint, "region": "us-east-1"}


def test_table_of_glue_is_read(glue, golden_table, monkeypatch):
    settings = glue_table(glue, monkeypatch, "orders", str(golden_table(MOR)), {})
    assert HudiTable.from_catalog("sales.orders", settings).scan().count() == ROWS
    with pytest.raises(CatalogError, match="EntityNotFoundException"):
        HudiTable.from_catalog("sales.missing", settings)


def test_read_optimized_table_of_glue_is_its_base_files(glue, golden_table, monkeypatch):
    ro = {"hoodie.query.as.ro.table": "true"}
    settings = glue_table(glue, monkeypatch, "orders_ro", str(golden_table(MOR)), ro)
    table = HudiTable.from_catalog("sales.orders_ro", settings)
    assert "read_optimized" in table.scan().explain()
    assert "snapshot" in table.scan(query_type="snapshot").explain()
    assert "incremental" in table.scan(begin="earliest").explain()


def test_empty_query_type_leaves_the_default_of_a_table_of_glue(glue, golden_table, monkeypatch):
    ro = {"hoodie.query.as.ro.table": "true"}
    settings = glue_table(glue, monkeypatch, "empty_type_ro", str(golden_table(MOR)), ro)
    table = HudiTable.from_catalog("sales.empty_type_ro", settings)
    for name in ("query_type", "QUERY_TYPE", "hoodie.datasource.query.type"):
        assert "read_optimized" in table._scan_with({name: ""}).explain(), name


BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"


def test_entry_of_glue_that_only_hive_knows_is_its_base_files(glue, golden_table, monkeypatch):
    location = str(golden_table(MOR))
    given = {"Parameters": {}, "InputFormat": BASE_FILES}
    settings = glue_table(glue, monkeypatch, "hive_ro", location, {}, **given)
    table = HudiTable.from_catalog("sales.hive_ro", settings)
    assert "read_optimized" in table.scan().explain()
    given["Parameters"] = {"spark.sql.sources.provider": "hudi"}
    settings = glue_table(glue, monkeypatch, "synced", location, {}, **given)
    assert "snapshot" in HudiTable.from_catalog("sales.synced", settings).scan().explain()


@pytest.mark.parametrize(
    "parameters", [{"spark.sql.sources.provider": "delta"}, {"table_type": "ICEBERG"}]
)
def test_entry_of_glue_of_another_format_is_refused(glue, golden_table, monkeypatch, parameters):
    name = f"other_{len(parameters)}_{min(parameters.values()).lower()}"
    location = str(golden_table(MOR))
    settings = glue_table(glue, monkeypatch, name, location, {}, Parameters=parameters)
    with pytest.raises(CatalogError, match=r"of the format (delta|ICEBERG), not of Apache Hudi"):
        find_table(f"sales.{name}", settings)


def test_view_of_glue_has_no_location(glue, monkeypatch):
    settings = glue_table(glue, monkeypatch, "view", "", {})
    with pytest.raises(CatalogError, match=r"no location for sales\.view"):
        find_table("sales.view", settings)


@pytest.fixture
def hive(golden_table):
    """A metastore with one table, by the server that Thrift generates beside its client."""
    pytest.importorskip("pymetastore")
    from pymetastore.hive_metastore import ThriftHiveMetastore as Metastore
    from pymetastore.hive_metastore.ttypes import (
        FieldSchema,
        NoSuchObjectException,
        SerDeInfo,
        StorageDescriptor,
        Table,
    )
    from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
    from thrift.server.TServer import TThreadedServer
    from thrift.transport.TSocket import TServerSocket
    from thrift.transport.TTransport import TBufferedTransportFactory

    class Handler:
        def get_table(self, database, name):
            if (database, name) == ("sales", "view"):
                return Table(tableName=name, dbName=database)
            if (database, name) == ("sales", "hive_ro"):  # as sync_as_datasource=false leaves it
                place = StorageDescriptor(
                    location=f"file:{golden_table(MOR)}",
                    inputFormat=BASE_FILES,
                    cols=[FieldSchema("id", "string", "the key"), FieldSchema("qty", "int", None)],
                    serdeInfo=SerDeInfo(parameters={"serialization.format": "1"}),
                )
                keys = [FieldSchema("region", "string", "")]
                return Table(tableName=name, dbName=database, sd=place, partitionKeys=keys)
            if (database, name) not in {("sales", "orders"), ("@eu#sales", "orders")}:
                raise NoSuchObjectException("no such table")
            serde = SerDeInfo(parameters={"hoodie.query.as.ro.table": "false"})
            place = StorageDescriptor(location=f"file:{golden_table(MOR)}", serdeInfo=serde)
            return Table(tableName=name, dbName=database, sd=place)

    socket = TServerSocket("127.0.0.1", 0)
    socket.listen()
    port = socket.handle.getsockname()[1]
    server = TThreadedServer(
        Metastore.Processor(Handler()),
        socket,
        TBufferedTransportFactory(),
        TBinaryProtocolFactory(),
        daemon=True,
    )

    def serve():  # the server's own loop would try again for ever after the socket is closed
        while True:
            try:
                client = socket.accept()
            except OSError:
                return
            threading.Thread(target=server.handle, args=[client], daemon=True).start()

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    yield {"type": "hive", "uri": f"thrift://127.0.0.1:{port}"}
    # Wakes the thread, which closing does not; closed while it accepts, the socket has no handle.
    socket.handle.shutdown(SHUT_RDWR)
    serving.join(10)
    assert not serving.is_alive()
    socket.close()


@pytest.mark.parametrize("name", ["sales.orders", "eu.sales.orders"])
def test_table_of_a_hive_metastore_is_read(hive, name):
    assert HudiTable.from_catalog(name, hive).scan().count() == ROWS


def test_entry_that_only_hive_knows_is_its_base_files(hive):
    table = HudiTable.from_catalog("sales.hive_ro", hive)
    assert "read_optimized" in table.scan().explain()
    columns = EntryColumns(("region",), is_of_hive=True, comments={"id": "the key"})
    assert table._entry_columns == columns
    assert table.refresh()._entry_columns == columns


def test_metastore_that_does_not_answer_is_passed_over(hive):
    dead = "thrift://127.0.0.1:1"
    assert find_table("sales.orders", {**hive, "uri": f"{dead}, {hive['uri']}"}).location
    with pytest.raises(CatalogError, match=r"no Hive Metastore answers: thrift://127\.0\.0\.1:1"):
        find_table("sales.orders", {**hive, "uri": dead})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sales.missing", "does not have sales.missing"),
        ("sales.view", "no location for sales"),
    ],
)
def test_table_that_a_metastore_cannot_name_is_refused(hive, name, problem):
    with pytest.raises(CatalogError, match=problem):
        find_table(name, hive)


@pytest.mark.skipif(find_spec("pymetastore") is not None, reason="the client is installed")
def test_client_that_is_missing_is_named():
    with pytest.raises(ImportError, match="pip install 'pymetastore"):
        find_table("a.b", {"type": "hive", "uri": "thrift://h:1"})


@pytest.mark.parametrize("command", ["describe", "count", "doctor", "commits"])
def test_commands_take_the_name_of_a_table_in_a_catalog(hive, command):
    settings = (text for item in hive.items() for text in ("--catalog", "=".join(item)))
    ended = in_process(command, "sales.orders", *settings, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)


def test_doctor_examines_a_table_of_a_catalog_that_cannot_be_opened(monkeypatch, tmp_path):
    table = unpack(MOR, tmp_path)
    (table / ".hoodie" / "hoodie.properties").write_text("garbage")
    found = CatalogTable(str(table))
    monkeypatch.setattr("hudi_pyspark.catalogs.find_table", lambda *_: found)
    ended = in_process("doctor", "sales.orders", "--catalog", "type=hive")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith("problem  properties: ")
    assert "stop its writers" in ended.out


def test_tables_of_a_catalog_are_reported(hive, tmp_path):
    settings = (text for item in hive.items() for text in ("--catalog", "=".join(item)))
    ended = in_process(
        "report", "sales.orders", "sales.view", *settings, "-o", "json", "--to", str(tmp_path)
    )
    rows = {row["place"]: row["error"] for row in json.loads(ended.out)["tables"]}
    assert rows.keys() == {"sales.orders", "sales.view"}
    assert "no location" in rows["sales.view"]
    assert (tmp_path / "sales.orders.html").exists()
