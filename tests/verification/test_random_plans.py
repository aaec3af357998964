"""Random queries over Spark Connect, and on lazy tables, answer as on copies of the rows."""

import random
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from hudi_pyspark.filter.predicate import IsNull
from hudi_pyspark.frames import polars
from tests.conftest import PROJECT
from verification.common.archives import unpack
from verification.random_plans.conditions import random_condition, to_sql
from verification.random_plans.ends import ARCHIVE, compare_engine
from verification.random_plans.extremes import rows


@pytest.fixture(scope="module")
def tables_of_ends(tmp_path_factory):
    return unpack(ARCHIVE, tmp_path_factory.mktemp("ends"))


def test_rows_of_ends_are_those_that_were_written(tables_of_ends):
    written = pq.read_table(tables_of_ends / "rows.parquet")
    assert str(rows().to_pylist()) == str(written.to_pylist())


def test_conditions_depend_on_the_seed_alone():
    texts = [to_sql(random_condition(random.Random(seed))) for seed in range(300)]
    assert texts == [to_sql(random_condition(random.Random(seed))) for seed in range(300)]
    assert len(set(texts)) > 290
    assert max(text.count(" AND ") + text.count(" OR ") for text in texts) > 80


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_lazy_tables_of_ends_answer_like_their_copy(engine, tables_of_ends):
    assert list(compare_engine(engine, tables_of_ends, range(12))) == []


def test_lost_rows_are_noticed(tables_of_ends, monkeypatch):
    monkeypatch.setattr(polars, "pruning", lambda *_: IsNull("k"))
    assert len(list(compare_engine("polars", tables_of_ends, range(12)))) > 6


@pytest.mark.spark
def test_narrowed_queries_answer_like_plain_ones(connect_port):
    command = [sys.executable, "-m", "verification.random_plans", "--count", "10"]
    command += ["--port", connect_port]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=1_200, check=False
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
