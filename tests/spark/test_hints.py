"""Hints count only if the maker of the query gave them."""

from __future__ import annotations

import logging
import pickle
import random

import pyarrow as pa
import pytest
from pyspark.serializers import CloudPickleSerializer

from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.hints import ATTRIBUTE, OPTION, REQUEST, ClientHints, Hint
from hudi_pyspark.spark.optimizer import class_of, rule_classes
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.spark.deployment import client
from tests.spark.hints_of_others import OPTIONS, harmful_words, marked

CASE = "v9_mor_compaction_inline"
SECRET = "a secret of a session"
GIVEN = ClientHints(frozenset({("id",)}), ("id > 'a'",), 3)


def rows(source, schema=None):
    reader = source.reader(schema or source.schema())
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return pa.Table.from_batches(batches, reader.schema).sort_by("id")


def expected_ids():
    query = next(q for q in load_case(GOLDEN / CASE).queries if q.name == "snapshot")
    return sorted(query.expected_rows()["id"].to_pylist())


# The rule's hints


def test_metadata_of_columns_gives_no_hints(golden_table, tmp_path, caplog):
    source = HudiDataSource({"path": str(golden_table(CASE))})
    schema = marked(source.schema(), harmful_words(tmp_path / "mark"), random.Random(1))
    found = rows(source, schema)
    assert found["id"].to_pylist() == expected_ids()
    assert found.equals(rows(HudiDataSource({"path": str(golden_table(CASE))})))
    assert not (tmp_path / "mark").exists()
    (line,) = [text for text in caplog.messages if "gives no hints" in text]
    assert "hudi-py.filters" in line
    assert "hudi-py.state" in line


def test_names_in_metadata_forge_no_line_of_the_log(golden_table, caplog):
    source = HudiDataSource({"path": str(golden_table(CASE))})
    schema = marked(source.schema(), {"hudi-py.\nERROR forged": "x"}, random.Random(1))
    source.reader(schema)
    assert not any("\n" in text for text in caplog.messages)


def test_other_metadata_is_nobodys_hint(golden_table, caplog):
    source = HudiDataSource({"path": str(golden_table(CASE))})
    schema = marked(source.schema(), {"comment": "of a column"}, random.Random(1))
    assert rows(source, schema)["id"].to_pylist() == expected_ids()
    assert "hints" not in caplog.text


def test_source_keeps_hints_for_one_reader(golden_table):
    source = HudiDataSource({"path": str(golden_table(CASE))})
    assert getattr(source, ATTRIBUTE) == {}
    source.hints = {Hint.LIMIT.value: "1"}
    assert rows(source).num_rows == 1
    assert rows(source).num_rows == len(expected_ids())
    assert b"limit" not in pickle.dumps(source)


@pytest.fixture
def java(spark):
    """The class of the rule that adds hints to a pickle, by its method's names."""
    jvm = spark._jvm
    methods = class_of(rule_classes(jvm).core.getClassLoader(), "Hints").getMethods()
    by_name = {method.getName(): method for method in methods}

    def call(name, data, hints):
        arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 2)
        arguments[0] = data
        arguments[1] = jvm.java.util.TreeMap(hints)
        return by_name[name].invoke(None, arguments)

    return call


@pytest.mark.spark
@pytest.mark.parametrize("size", [1, 100_000, 5_000_000])
def test_hints_come_with_the_pickle_of_the_source(java, size):
    source = HudiDataSource({"path": "/t", "hints": "x" * size, "hudi-py.hints": "y"})
    sent = bytes(CloudPickleSerializer().dumps(source))
    assert CloudPickleSerializer().loads(sent).hints == {}
    hints = {"filters": "a = 'é😀\n'", "limit": "3", "state": bytes(range(256)), "keys": ""}
    hinted = java("added", sent, hints)
    assert CloudPickleSerializer().loads(bytes(hinted)).hints == hints
    assert java("areIn", hinted, hints)
    assert not java("areIn", sent, hints)
    # Hints that are added later replace all earlier ones.
    again = java("added", hinted, {"keys": "b"})
    assert CloudPickleSerializer().loads(bytes(again)).hints == {"keys": "b"}
    assert not java("areIn", again, hints)


# The hints of a client


def signed(**other):
    return {OPTION: GIVEN.to_option("r", SECRET), REQUEST: "r", **other}


def test_signed_hints_of_a_client_count():
    assert ClientHints.of_read(signed(), SECRET) == GIVEN


@pytest.mark.parametrize(
    ("options", "secret"),
    [
        (signed(), ""),
        (signed(), "the secret of another session"),
        (signed(**{REQUEST: "another request"}), SECRET),
        ({OPTION: signed()[OPTION]}, SECRET),
        (signed(**{OPTION: signed()[OPTION].replace("3]", "2]")}), SECRET),
        (signed(**{OPTION: GIVEN.to_option("r", "")}), ""),
        *((options, secret) for options in OPTIONS for secret in ("", SECRET)),
    ],
)
def test_hints_of_a_client_count_only_with_its_signature(caplog, options, secret):
    assert ClientHints.of_read(options, secret) == ClientHints(is_given=False)
    assert caplog.messages == [f"the option {OPTION} gives no hints: it is not signed"]


def test_read_without_hints_of_a_client_is_no_news(caplog):
    caplog.set_level(logging.DEBUG)
    assert ClientHints.of_read({"path": "/t"}, SECRET) == ClientHints(is_given=False)
    assert caplog.messages == []


CLIENT = """
import json, random, sys
from pathlib import Path
from pyspark.sql import SparkSession
import hudi_pyspark
from hudi_pyspark.spark.connect.session import reads_of, schema_of
from tests.spark.hints_of_others import OPTIONS, harmful_words, marked

port, path, mark = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
answers = {}


def ids(frame):
    return sorted(row.id for row in frame.select("id").collect())


def ask(name):
    plain = spark.read.format("hudi-py").load(path)
    found = answers[name] = {"plain": ids(plain), "counted": plain.count()}
    for number, options in enumerate(OPTIONS[:4]):
        frame = spark.read.format("hudi-py").options(**options).load(path)
        found[f"option {number}"] = ids(frame)
        view = f"CREATE OR REPLACE TEMP VIEW v{number} USING `hudi-py`"
        spark.sql(f"{view} OPTIONS ({options_text(options)})")
        found[f"view {number}"] = ids(spark.table(f"v{number}"))
    schema = marked(plain.schema, harmful_words(Path(mark)), random.Random(2))
    found["schema"] = ids(spark.read.format("hudi-py").schema(schema).load(path))
    found["narrow"] = [row.id for row in plain.where("id > 'id'").limit(2).collect()]


def options_text(options):
    texts = {"path": path, **options}
    return ", ".join(f"'{k}' {json.dumps(v)}" for k, v in texts.items())


ask("unregistered")
hudi_pyspark.register(spark)
ask("registered")
hook = spark.client._hudi_pyspark_hook
settings = {row.key: row.value for row in spark.sql("SET -v").collect()}
settings |= spark.conf.getAll
answers["shown"] = hook.secret in json.dumps(settings)
answers["secret"] = len(hook.secret)
narrow = spark.read.format("hudi-py").load(path).where("id > 'id'").select("id")
answers["explained"] = hudi_pyspark.explain(narrow)
(source,), _ = reads_of(spark.client, narrow._plan.to_proto(spark.client))
answers["signed"] = schema_of(spark.client, source).names
source.options["hudi-py.request"] += "0"
answers["not signed"] = schema_of(spark.client, source).names
answers["all"] = spark.read.format("hudi-py").load(path).columns
print("ANSWERS", json.dumps(answers))
spark.stop()
"""


@pytest.fixture(scope="module")
def answers(connect_port, golden_table, tmp_path_factory):
    mark = tmp_path_factory.mktemp("marks") / "mark"
    found = client(CLIENT, connect_port, str(golden_table(CASE)), str(mark))
    assert not mark.exists()
    return found


@pytest.mark.spark
@pytest.mark.parametrize("session", ["unregistered", "registered"])
def test_options_and_schemas_of_others_hide_no_rows_over_connect(answers, session):
    found = dict(answers[session])
    assert found.pop("counted") == len(expected_ids())
    assert set(found.pop("narrow")) <= set(expected_ids())
    assert {name: ids for name, ids in found.items() if ids != expected_ids()} == {}


@pytest.mark.spark
def test_hints_of_a_connect_client_are_signed_and_its_secret_is_not_shown(answers):
    assert answers["secret"] == 64
    assert not answers["shown"]
    assert "columns: id\n  condition: id > 'id'" in answers["explained"]


@pytest.mark.spark
def test_connect_server_takes_the_hints_of_the_client_if_they_are_signed(answers):
    assert answers["signed"] == ["id"]
    assert answers["not signed"] == answers["all"]
