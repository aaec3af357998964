"""Processes of Spark do not wait for acknowledgements, nor for collections of what stays."""

import pickle
import re
import socket
import subprocess
import sys
import warnings

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StringType, StructField, StructType

from hudi_pyspark.spark import datasource
from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.worker_process import keep_modules, send_at_once

on_linux = pytest.mark.skipif(
    not hasattr(socket, "TCP_QUICKACK"), reason="only Linux has the option"
)


@pytest.fixture
def connection():
    """Both ends of a connection on the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address) as one, server.accept()[0] as other:
            yield one, other


def sends_at_once(end):
    return bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))


CONNECTION = """
import os
import socket
from hudi_pyspark.spark.worker_process import send_at_once

def states(ends):
    return [bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) for end in ends]

server = socket.create_server(("127.0.0.1", 0))
connection = [socket.create_connection(server.getsockname()), server.accept()[0]]
pair = socket.socketpair()  # Unix domain sockets have no such option
file = open(os.devnull)
opened = os.listdir("/proc/self/fd")
before = states(connection)
send_at_once()
print(before, states(connection), os.listdir("/proc/self/fd") == opened)
for left, right in (connection, pair):
    left.sendall(b"still")
    print(right.recv(9))
"""


@on_linux
def test_connections_send_at_once():
    """A process of tests may have more open files than those among which a connection is sought."""
    done = subprocess.run(
        [sys.executable, "-c", CONNECTION], capture_output=True, text=True, check=True
    )
    told, *received = done.stdout.splitlines()
    assert told == "[False, False] [True, True] True"
    assert received == ["b'still'", "b'still'"]


def test_other_systems_have_nothing_to_change(connection, monkeypatch):
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    send_at_once()
    assert not any(map(sends_at_once, connection))


SCRIPT = """
import gc
from hudi_pyspark.spark.worker_process import keep_modules

assert gc.get_freeze_count() == 0
keep_modules()
kept = gc.get_freeze_count()
later = [[] for _ in range(1000)]
keep_modules()
print(kept > 1000, gc.get_freeze_count() == kept)
import wave
keep_modules()
print(gc.get_freeze_count() > kept)
"""


def test_modules_are_kept_and_what_comes_later_is_not_until_there_are_more_modules():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]


def test_source_prepares_the_process_that_it_comes_to(monkeypatch):
    calls = []
    for function in (send_at_once, keep_modules):
        name = function.__name__
        monkeypatch.setattr(datasource, name, lambda name=name: calls.append(name))
    sent = pickle.dumps(HudiDataSource({"path": "/none"}))
    assert calls == []
    arrived = pickle.loads(sent)
    assert sorted(calls) == ["keep_modules", "send_at_once"]
    assert arrived.options == {"path": "/none"}


def test_modules_of_the_planner_are_kept(monkeypatch):
    calls = []
    monkeypatch.setattr(datasource, "keep_modules", lambda: calls.append(sorted(sys.modules)))
    HudiDataSource({"path": "/none"}).planner()
    assert "hudi_pyspark.spark.planner" in calls[0]


def test_warnings_of_reads_that_spark_plans_show_no_line_of_code(golden_table):
    path = str(golden_table("v6_mor_part_basic"))
    source = HudiDataSource(
        {"path": path, "as.of.instant": "2000-01-01", "hoodie.no.such.key": "1"}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader = source.reader(StructType([StructField("id", StringType())]))
        CloudPickleSerializer().dumps(reader)
    texts = [warnings.formatwarning(w.message, w.category, w.filename, w.lineno) for w in caught]
    assert len(texts) >= 2
    for text in texts:
        assert re.fullmatch(r"hudi-py:0: UserWarning: .*\n", text)


def test_warnings_of_reads_that_spark_plans_come_once(golden_table):
    source = {"path": str(golden_table("v6_mor_part_basic")), "hoodie.no.such.key": "once"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            HudiDataSource(source).reader(StructType([StructField("id", StringType())]))
    assert len(caught) == 1
