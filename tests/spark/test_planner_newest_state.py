"""Which state of a growing table a query of a registered session reads."""

from __future__ import annotations

import shutil
from base64 import b64decode

import pyarrow as pa
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import functions as sf

from hudi_pyspark.spark.datasource import HudiDataSource
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.growing_table import BEFORE_COMPACTION, differs_from, table_at
from tests.spark.frames import load

CASE, INSTANT, QUERY = BEFORE_COMPACTION


@pytest.fixture
def growing(tmp_path):
    return table_at(CASE, INSTANT, tmp_path)


def views(session, path):
    """A view of the source, a view over it, and a DataFrame of each."""
    options = f"OPTIONS (path '{path}')"
    session.sql(f"CREATE OR REPLACE TEMP VIEW grown USING `hudi-py` {options}")
    session.sql("CREATE OR REPLACE TEMP VIEW over_grown AS SELECT * FROM grown WHERE id > ''")
    return {
        "frame": load(session, path),
        "with_schema": session.read.format("hudi-py")
        .schema(load(session, path).schema)
        .load(str(path)),
        "table": session.table("grown"),
        "over": session.table("over_grown"),
        "sql": session.sql("SELECT * FROM over_grown"),
    }


def scans_of(frame):
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    return [leaves.apply(place).scan() for place in range(leaves.size())]


@pytest.mark.spark
def test_each_query_reads_the_newest_state(ruled, growing):
    frames = views(ruled, growing.path)
    for name, frame in frames.items():
        assert differs_from(frame.select("*").toArrow(), CASE, QUERY) == [], name
    growing.grow()
    for name, frame in frames.items():
        assert differs_from(frame.select("*").toArrow(), CASE, "snapshot") == [], name
    assert differs_from(ruled.table("over_grown").toArrow(), CASE, "snapshot") == []


@pytest.mark.spark
def test_scans_of_a_query_read_one_state(ruled, growing):
    frame = load(ruled, growing.path)
    narrow = load(ruled, growing.path, columns="id")
    frame.count()
    growing.grow()
    load(ruled, growing.path, columns="id").createOrReplaceTempView("later")
    rows = frame.count()
    # Each scan alone finds the newest state; that they agree shows in what they share.
    narrow.createOrReplaceTempView("narrow")
    frame.createOrReplaceTempView("whole")
    joined = ruled.sql(
        "SELECT count(*) FROM whole WHERE id IN (SELECT id FROM narrow) "
        "AND id IN (SELECT id FROM later) AND id <= (SELECT max(id) FROM whole)"
    )
    assert joined.first()[0] == rows


@pytest.mark.spark
def test_table_that_did_not_change_is_not_planned_again(ruled, growing):
    frame = load(ruled, growing.path)
    (first,), (second,) = scans_of(frame.select("id")), scans_of(frame.select("id"))
    assert second.readSchema().json() == first.readSchema().json()
    are_same = ruled._jvm.java.util.Objects.equals
    assert are_same(second.toBatch(), first.toBatch())
    growing.grow()
    (third,) = scans_of(frame.select("id"))
    assert not are_same(third.toBatch(), first.toBatch())


@pytest.mark.spark
def test_instants_and_caches_pin_a_state(ruled, growing):
    at = load(ruled, growing.path, as_of=INSTANT)
    cached = load(ruled, growing.path).filter("id IS NOT NULL").cache()
    cached.count()
    growing.grow()
    assert differs_from(at.select("*").toArrow(), CASE, QUERY) == []
    assert differs_from(cached.select("*").toArrow(), CASE, QUERY) == []
    cached.unpersist(blocking=True)
    assert differs_from(cached.select("*").toArrow(), CASE, "snapshot") == []


@pytest.mark.spark
def test_view_of_a_table_that_was_created_again_reads_the_new_one(ruled, growing, golden_table):
    frames = views(ruled, growing.path)
    frames["sql"].count()
    shutil.rmtree(growing.path)
    with pytest.raises(Exception, match=r"HUDI_PATH_NOT_FOUND|HUDI_TABLE_NOT_FOUND"):
        frames["frame"].agg(sf.count("id")).collect()
    shutil.copytree(golden_table(CASE), growing.path)
    for name, frame in frames.items():
        assert differs_from(frame.select("*").toArrow(), CASE, "snapshot") == [], name


def question(source, state=b""):
    """Answer what the optimizer's rule asks a source for the newest state of its table."""
    source.hints = {"state": state}
    return source.reader(source.schema()).state


def sent(source):
    source.schema()  # opens the table
    return CloudPickleSerializer().dumps(source)


def test_source_takes_over_the_state_of_another_one_of_its_table(growing):
    options = {"path": str(growing.path)}
    state = sent(HudiDataSource(options))
    growing.grow()
    later = HudiDataSource({**options, "Columns": "id"})
    assert question(later) is None
    # The first scan of a query has read the state of before the commit.
    answer = CloudPickleSerializer().loads(b64decode(question(later, state)))
    answer.hints = {"pinned": "true"}
    reader = answer.reader(later.schema())
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    expected = next(q for q in load_case(GOLDEN / CASE).queries if q.name == QUERY).expected_rows()
    assert sorted(pa.Table.from_batches(batches)["id"].to_pylist()) == sorted(
        expected["id"].to_pylist()
    )


def test_source_of_another_table_or_with_other_settings_keeps_its_state(growing, golden_table):
    state = sent(HudiDataSource({"path": str(growing.path)}))
    growing.grow()
    assert question(HudiDataSource({"path": str(golden_table(CASE))}), state) is None
    other = HudiDataSource({"path": str(growing.path), "fs.s3a.access.key": "another"})
    assert question(other, state) is None
