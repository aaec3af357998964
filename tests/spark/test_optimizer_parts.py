"""The rule works without what a Spark may lack: rows stay the same whichever name is missing."""

import re
import time

import pytest
from py4j.java_gateway import get_field
from py4j.protocol import Py4JError

from hudi_pyspark.spark import optimizer
from hudi_pyspark.spark.optimizer import CORE, PARTS
from tests.conftest import PATIENCE
from tests.project.private_spark import names_of_java
from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"
TYPES = "v9_mor_all_types"
SOURCES = optimizer.java_sources()
QUERIES = [
    "SELECT * FROM o",
    "SELECT id, ts AS id2 FROM o WHERE region = 'emea' AND ts > 3",
    "SELECT region, count(*) AS n, max(id) AS last FROM o GROUP BY region",
    "SELECT a.id, b.region FROM o a JOIN o b ON a.id = b.id WHERE b.ts > 5",
    "SELECT id FROM o ORDER BY ts, id LIMIT 3",
    "SELECT count(*) AS n FROM o",
    "SELECT id FROM o WHERE ts = (SELECT max(ts) FROM o)",
    "SELECT id, rank() OVER (PARTITION BY region ORDER BY ts, id) AS region FROM o",
    "SELECT c_struct.f1, c_struct.f3.g2 FROM t WHERE c_struct.f2 IS NOT NULL",
    "SELECT id FROM o WHERE region IN ('emea', 'apac') UNION SELECT region FROM o",
]


@pytest.fixture(scope="module")
def known(first_session):
    """Apache Hudi's rows of each query."""
    plain = first_session.newSession()
    hudi_rows(plain, CASE).createOrReplaceTempView("o")
    hudi_rows(plain, TYPES).createOrReplaceTempView("t")
    return [plain.sql(query).localCheckpoint() for query in QUERIES]


@pytest.fixture
def ask(spark, golden_table, known, monkeypatch):
    """Ask all queries in a session whose rule is made of other sources."""
    asked = set()

    def ask(sources):
        classes = optimizer.compile_rule(spark._jvm, sources)
        is_whole = classes.parts.keys() == PARTS.keys()
        # The source of a part that is missing does not matter.
        changed = sources.items() - SOURCES.items() if is_whole else ()
        what = (frozenset(classes.parts), frozenset(changed))
        if what in asked:
            return
        asked.add(what)
        monkeypatch.setattr(optimizer, "rule_classes", lambda _: classes)
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set(optimizer.ENABLED, "true")
        assert optimizer.install_optimizer(session) == ""
        load(session, golden_table(CASE)).createOrReplaceTempView("o")
        load(session, golden_table(TYPES)).createOrReplaceTempView("t")
        for query, rows in zip(QUERIES, known, strict=True):
            assert_same_rows(session.sql(query), rows)

    return ask


def with_nonsense(source, name):
    """A source in which a name of Spark is one that no Spark has."""
    if f'"{name}"' in source:  # a name that reflection looks up, and maybe one of our own methods
        return source.replace(f'"{name}"', f'"{name}OfNoSpark"')
    return re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", f"{name}OfNoSpark", source)


@pytest.mark.cluster
@pytest.mark.parametrize("file", SOURCES)
def test_rows_are_the_same_whichever_name_is_missing(spark, ask, file):
    for name in sorted(set(names_of_java(SOURCES[file]))):
        sources = {**SOURCES, file: with_nonsense(SOURCES[file], name)}
        try:
            optimizer.compile_rule(spark._jvm, sources)
        except Py4JError:
            if file not in CORE:
                raise
            continue  # the session has no rule
        ask(sources)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("NewestState", "dataSource"),
        ("PythonScans", "dataSourceInPython"),
        ("Reflection", "copy"),
        ("NestedFields", "SchemaPruning$"),
        ("FilterText", "DataSourceStrategy$"),
    ],
)
def test_rows_are_the_same_without_a_name(ask, file, name):
    ask({**SOURCES, file: with_nonsense(SOURCES[file], name)})


@pytest.mark.parametrize("part", PARTS)
def test_missing_part_is_one_line_of_the_log(spark, part, caplog):
    caplog.set_level("INFO", logger=optimizer.__name__)
    broken = {**SOURCES, part: with_nonsense(SOURCES[part], "import")}
    classes = optimizer.compile_rule(spark._jvm, broken)
    assert set(classes.parts) == set(PARTS) - {part}
    (message,) = caplog.messages
    assert message.startswith(f"{PARTS[part].otherwise}, since Spark lacks what {part} needs: ")


def test_spark_without_the_compiler_reads_whole_scans(spark, golden_table, monkeypatch, caplog):
    def missing(_jvm):
        raise TypeError("'JavaPackage' object is not callable")  # as py4j says of no such class

    monkeypatch.setattr(optimizer, "rule_classes", missing)
    caplog.set_level("INFO", logger=optimizer.__name__)
    session = spark.newSession()
    session.conf.set(optimizer.ENABLED, "true")
    assert "not callable" in optimizer.install_optimizer(session)
    (message,) = caplog.messages
    assert message.startswith("scans read more than a query needs")
    frame = load(session, golden_table(CASE)).select("id")
    assert_same_rows(frame, hudi_rows(session, CASE).select("id"))


def test_scans_of_a_query_are_planned_at_the_same_time(ruled, golden_table):
    table = load(ruled, golden_table(CASE))
    both = table.select("id").union(table.select("region"))
    leaves = both._jdf.queryExecution().optimizedPlan().collectLeaves()
    handler_of = ruled._jvm.java.lang.reflect.Proxy.getInvocationHandler
    plans = [get_field(handler_of(leaves.apply(n).scan()), "planned") for n in range(2)]
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:  # nobody has asked for rows or sizes
        if all(get_field(plan, "isStarted") for plan in plans):
            return
        time.sleep(0.1)
    pytest.fail("nothing was planned")
