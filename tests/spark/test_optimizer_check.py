"""The rule checks the plan that it has made: a mistake costs columns, and never a row."""

import pytest

from hudi_pyspark.spark import optimizer
from tests.spark.frames import assert_same_rows, hudi_rows, load

pytestmark = pytest.mark.spark

CASE = "v9_mor_compaction_inline"
QUERY = (
    "SELECT o.id, sum(p.ts) AS s FROM o JOIN (SELECT region, ts, ts AS id FROM o) p "
    "ON o.region = p.region WHERE o.ts > 3 GROUP BY o.id UNION SELECT id, ts FROM o"
)
# Spark leaves no Project below this union.
WHOLE = "SELECT * FROM o UNION ALL SELECT * FROM o"
_ATTRIBUTE = "attributes.add(isWhole ? attribute : attribute.withDataType(type));"
_BINARY = "org.apache.spark.sql.types.DataTypes.BinaryType"
# Each is what a defect of the rule would be: a query that meets it, class, words, other words.
MISTAKES = [
    pytest.param(
        (
            QUERY,
            "Need",
            "if (!isNeeded(attribute)) {",
            'if (!isNeeded(attribute) || attribute.name().equals("ts")) {',
        ),
        id="a column that is needed is left out",
    ),
    pytest.param(
        (
            WHOLE,
            "NarrowScans",
            "visit(root, (LogicalPlan) children.get(i), all)",
            "visit(root, (LogicalPlan) children.get(i), Need.below(plan, null))",
        ),
        id="columns are left out below a node that takes them by position",
    ),
    pytest.param(
        (
            QUERY,
            "Need",
            _ATTRIBUTE,
            f"attributes.add(attribute.withDataType({_BINARY}));",
        ),
        id="an attribute has another type",
    ),
    pytest.param(
        (
            QUERY,
            "Need",
            _ATTRIBUTE,
            "attributes.add(attribute.newInstance());",
        ),
        id="an attribute has another identity",
    ),
    pytest.param(
        (
            QUERY,
            "NarrowScans",
            "return below.over(plan, visit(root, child, below));",
            "return plan instanceof Sort ? plan : visit(root, child, below);",
        ),
        id="nodes are gone",
    ),
]


@pytest.fixture
def ruled_with(spark, monkeypatch):
    """Make a session whose rule is compiled from other sources."""

    def make(sources):
        classes = optimizer.compile_rule(spark._jvm, sources)
        monkeypatch.setattr(optimizer, "rule_classes", lambda _: classes)
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set(optimizer.ENABLED, "true")
        assert optimizer.install_optimizer(session) == ""
        return session

    return make


def columns_read(session, query):
    """How many columns each scan of a query has."""
    leaves = session.sql(query)._jdf.queryExecution().optimizedPlan().collectLeaves()
    return [leaves.apply(place).output().size() for place in range(leaves.size())]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_plan_that_is_wrong_is_not_used(ruled_with, spark, golden_table, mistake):
    query, name, right, wrong = mistake
    sources = optimizer.java_sources()
    assert right in sources[name]
    session = ruled_with({**sources, name: sources[name].replace(right, wrong)})
    load(session, golden_table(CASE)).createOrReplaceTempView("o")
    plain = spark.newSession()
    hudi_rows(plain, CASE).createOrReplaceTempView("o")
    assert_same_rows(session.sql(query), plain.sql(query))
    assert set(columns_read(session, query)) == {11}  # all of them


def test_plan_of_the_rule_is_used(ruled, golden_table):
    load(ruled, golden_table(CASE)).createOrReplaceTempView("o")
    assert columns_read(ruled, QUERY) == [3, 2, 2]
