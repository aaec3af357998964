"""Random programs over a growing table: which state a read has to have."""

import random

import pytest

import hudi_pyspark
from hudi_pyspark.spark.optimizer import ENABLED
from tests.verification.runs import run_over_connect
from verification.states import program
from verification.states.__main__ import READS, Referee
from verification.states.growth import COLUMNS, LAST, Growth

PROGRAMS = [2]


# In a process of its own: one that has been a client of Spark Connect makes no other session.
@pytest.mark.spark
def test_reads_over_connect_have_the_state_that_the_pages_promise(connect_port):
    found = run_over_connect("states", "--seed", "2", "--count", "1", port=connect_port)
    assert "| programs | 1 |" in found
    assert "0 findings" in found


@pytest.mark.parametrize("views", [program.NEWEST, program.KEPT])
def test_programs_depend_on_the_seed_alone(views):
    one, other = (program.draw(7, views=views, is_connect=True) for _ in range(2))
    assert one.text == other.text
    assert "commit()" in one.text


def test_view_that_keeps_a_state_may_have_one_between_its_making_and_now():
    read = program.Step("read(v)", wanted=2, least=1, key="v")
    known: dict[str, int] = {}
    assert not read.is_kept(0, known)
    assert read.is_kept(1, known)
    assert not read.is_kept(2, known)  # after a read of state 1
    assert not read.is_kept("9 rows of no state", {})


@pytest.mark.parametrize("case", [0, 1])
def test_state_of_rows_is_that_of_apache_hudis_answer(case, tmp_path):
    growth = Growth(["v6_mor_part_basic", "v9_mor_compaction_inline"][case], tmp_path)
    states = []
    for _ in range(LAST + 1):
        rows = hudi_pyspark.HudiTable(growth.path).scan(list(COLUMNS)).to_arrow().to_pylist()
        states.append(growth.state_of(rows))
        growth.commit()
    assert states == [0, 1, 2, 3]
    assert growth.state_of(rows[1:]) != 3
    mixed = random.Random(1).sample(rows, 9)
    assert "rows of no state" in str(growth.state_of(mixed))


@pytest.mark.spark
def test_reads_of_a_registered_session_have_the_newest_state(spark):
    def make():
        session = spark.newSession()
        session.conf.set(ENABLED, "true")
        hudi_pyspark.register(session)
        return session

    referee = Referee(make, views=program.NEWEST, is_connect=False)
    referee.compare(PROGRAMS)
    assert referee.run.findings == []
    assert referee.run.notes[READS] > 5


@pytest.mark.spark
def test_a_session_that_was_not_registered_is_noticed(spark):
    referee = Referee(spark.newSession, views=program.NEWEST, is_connect=False)
    referee.compare(PROGRAMS, shrinks=0)
    assert [finding.detail.split()[1] for finding in referee.run.findings] == ["2"]
