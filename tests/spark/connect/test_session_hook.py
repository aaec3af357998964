"""The hook of a session by itself: requests in, requests out, without a server."""

from types import SimpleNamespace

import pytest
from pyspark.sql.connect.proto import base_pb2, expressions_pb2, relations_pb2

from hudi_pyspark import thresholds
from hudi_pyspark.spark.connect import session as session_module
from hudi_pyspark.spark.connect.expressions import OPERATORS
from hudi_pyspark.spark.connect.plan import sources_of
from hudi_pyspark.spark.connect.session import NarrowPlans
from hudi_pyspark.spark.hints import OPTION, REQUEST

NARROW = '[[["id"]], [], null]'
WHOLE = "[null, [], null]"


class Client:
    """A client whose server has some relations in its cache."""

    _session_id = "s"

    def __init__(self):
        self.cached = []

    def _analyze(self, method, relation):
        assert method == "get_storage_level"
        level = dict.fromkeys(("useMemory", "useDisk", "useOffHeap"), relation in self.cached)
        return SimpleNamespace(storage_level=SimpleNamespace(**level))


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def hook(client):
    return NarrowPlans(client)


def read(path="/orders", plan_id=0):
    relation = relations_pb2.Relation()
    relation.common.plan_id = plan_id
    relation.read.data_source.format = "hudi-py"
    relation.read.data_source.options["path"] = path
    return relation


def attribute(name):
    expression = expressions_pb2.Expression()
    expression.unresolved_attribute.unparsed_identifier = name
    return expression


def text(sql):
    expression = expressions_pb2.Expression()
    expression.expression_string.expression = sql
    return expression


def literal(value):
    expression = expressions_pb2.Expression()
    expression.literal.integer = value
    return expression


def function(name, *arguments):
    expression = expressions_pb2.Expression()
    expression.unresolved_function.function_name = name
    expression.unresolved_function.arguments.extend(arguments)
    return expression


def chosen(relation, *names, plan_id=0):
    above = relations_pb2.Relation()
    above.common.plan_id = plan_id
    above.project.input.CopyFrom(relation)
    above.project.expressions.extend(map(attribute, names))
    return above


def filtered(relation, condition):
    above = relations_pb2.Relation()
    above.filter.input.CopyFrom(relation)
    above.filter.condition.CopyFrom(condition)
    return above


def sorted_by(relation, key):
    above = relations_pb2.Relation()
    above.sort.input.CopyFrom(relation)
    above.sort.order.add().child.CopyFrom(key)
    return above


def with_reference(sql, relation):
    """A query of SQL over a relation, which it calls ``t``."""
    above = relations_pb2.Relation()
    above.with_relations.root.sql.query = sql
    alias = above.with_relations.references.add().subquery_alias
    alias.alias = "t"
    alias.input.CopyFrom(relation)
    return above


def request(relation, session_id="s"):
    made = base_pb2.ExecutePlanRequest(session_id=session_id, operation_id="o")
    made.plan.root.CopyFrom(relation)
    return made


def sent(hook, relation):
    """The options of the reads in what the hook sends."""
    return options_in(hook.on_execute_plan(request(relation)).plan)


def options_in(plan):
    """The options of the reads in a plan; without the signatures of hints."""
    found = [dict(each.options) for each in sources_of(plan)]
    for options in found:
        if OPTION in options:
            options[OPTION] = options[OPTION].partition(" ")[2]
    return found


def hints(hook, relation):
    return [options.get(OPTION) for options in sent(hook, relation)]


def test_request_is_narrow_and_given_one_is_unchanged(hook):
    given = request(chosen(read(), "id"))
    changed = hook.on_execute_plan(given)
    assert options_in(changed.plan) == [{"path": "/orders", OPTION: NARROW, REQUEST: "o"}]
    assert given == request(chosen(read(), "id"))


def test_request_of_another_session_is_unchanged(hook):
    given = request(chosen(read(), "id"), "other")
    assert hook.on_execute_plan(given) is given


def test_request_without_reads_of_this_package_is_unchanged(hook):
    relation = relations_pb2.Relation()
    relation.read.named_table.unparsed_identifier = "orders"
    given = request(chosen(relation, "id"))
    assert hook.on_execute_plan(given) is given


def test_reads_have_all_columns_where_the_hints_would_be_too_large(hook, monkeypatch):
    given = request(chosen(read(), "id"))
    monkeypatch.setattr(thresholds, "MOST_MESSAGE_BYTES", given.ByteSize() + 30)
    assert options_in(hook.on_execute_plan(given).plan) == [{"path": "/orders", REQUEST: "o"}]
    monkeypatch.setattr(thresholds, "MOST_MESSAGE_BYTES", given.ByteSize())
    assert hook.on_execute_plan(given) is given


def test_reads_see_the_newest_state_although_they_cannot_be_narrowed(hook, monkeypatch):
    monkeypatch.setattr(session_module, "Walk", None)
    assert sent(hook, chosen(read(), "id")) == [{"path": "/orders", REQUEST: "o"}]


def test_every_read_of_every_command_sees_the_newest_state(hook):
    given = base_pb2.ExecutePlanRequest(session_id="s", operation_id="o")
    given.plan.command.sql_command.input.CopyFrom(with_reference("MERGE INTO u SET *", read()))
    assert options_in(hook.on_execute_plan(given).plan) == [{"path": "/orders", REQUEST: "o"}]


def test_plan_that_the_server_returned_is_narrowed_anew(hook):
    old = read()
    old.read.data_source.options.update({OPTION: '[[["ts"]], [], null]', REQUEST: "before"})
    assert sent(hook, chosen(old, "id")) == [{"path": "/orders", OPTION: NARROW, REQUEST: "o"}]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM t", NARROW),
        ("-- c\nSELECT id FROM t", NARROW),
        ("TABLE t", WHOLE),
        ("FROM t", WHOLE),
        ("SELECT id FROM t EXCEPT SELECT id FROM u", WHOLE),
        ("SELECT id FROM t QUALIFY id = 1", WHOLE),
        ("SELECT id FROM t |> LIMIT 1", WHOLE),
    ],
)
def test_query_of_sql_reads_the_columns_that_it_surely_names(hook, sql, expected):
    (found,) = hints(hook, with_reference(sql, read()))
    assert (found == WHOLE) == (expected == WHOLE)
    assert '["id"]' in found or expected == WHOLE


@pytest.mark.parametrize("sql", ["INSERT INTO u SELECT id FROM t", "/* c */ INSERT INTO u TABLE t"])
def test_statement_that_writes_rows_is_narrowed_like_its_query(hook, sql):
    given = base_pb2.ExecutePlanRequest(session_id="s")
    given.plan.command.sql_command.input.CopyFrom(with_reference(sql, read()))
    (options,) = options_in(hook.on_execute_plan(given).plan)
    assert (options[OPTION] == WHOLE) == ("TABLE t" in sql)


@pytest.mark.parametrize(
    "key",
    [
        literal(1), attribute("all"), attribute("`ALL`"), text("1"), text("/* id */ (1)"),
        text("all"), function("rand"),
    ],
)  # fmt: skip
def test_sort_by_position_reads_all_columns(hook, key):
    assert hints(hook, chosen(sorted_by(read(), key), "id")) == [WHOLE]


@pytest.mark.parametrize("key", [attribute("id"), text("id"), function("-", attribute("id"))])
def test_sort_by_values_reads_their_columns(hook, key):
    assert hints(hook, chosen(sorted_by(read(), key), "id")) == [NARROW]


@pytest.mark.parametrize(
    ("kind", "field"),
    [("aggregate", "grouping_expressions"), ("repartition_by_expression", "partition_exprs")],
)
def test_other_keys_may_be_positions(hook, kind, field):
    above = relations_pb2.Relation()
    node = getattr(above, kind)
    node.input.CopyFrom(read())
    getattr(node, field).append(literal(1))
    if kind == "aggregate":
        node.group_type = 1
    assert hints(hook, chosen(above, "id")) == [WHOLE]


def test_hidden_column_is_unknown(hook):
    hidden = attribute("id")
    hidden.unresolved_attribute.is_metadata_column = True
    above = chosen(read())
    above.project.expressions.append(hidden)
    assert hints(hook, above) == [WHOLE]


def test_stream_into_a_function_reads_the_columns_of_its_query(hook):
    given = base_pb2.ExecutePlanRequest(session_id="s")
    start = given.plan.command.write_stream_operation_start
    start.foreach_batch.python_function.command = b"def of the user"
    start.input.CopyFrom(chosen(read(), "id"))
    start.input.project.input.read.is_streaming = True
    (options,) = options_in(hook.on_execute_plan(given).plan)
    assert options[OPTION] == NARROW


def test_view_has_a_state_of_its_own_and_the_columns_of_its_definition(hook):
    given = base_pb2.ExecutePlanRequest(session_id="s", operation_id="o")
    given.plan.command.create_dataframe_view.input.CopyFrom(chosen(read(), "id"))
    (options,) = options_in(hook.on_execute_plan(given).plan)
    assert options == {"path": "/orders", OPTION: NARROW, REQUEST: "o"}


def test_what_is_cached_stays_as_it_is_while_the_server_has_it(hook, client):
    cached = chosen(read(plan_id=1), "id", plan_id=2)
    hook.leave_cached(cached)
    client.cached.append(cached)
    assert sent(hook, chosen(cached, "id")) == [{"path": "/orders"}]
    client.cached.clear()  # by whatever
    assert hints(hook, chosen(cached, "id")) == [NARROW]
    assert not hook._cached


def test_frame_with_a_cached_one_above_it_and_one_that_reads_the_same_are_not_cached(hook, client):
    cached = chosen(read(plan_id=1), "id", plan_id=2)
    hook.leave_cached(cached)
    client.cached.append(cached)
    assert hints(hook, chosen(read(plan_id=1), "id", plan_id=3)) == [NARROW]
    assert hints(hook, chosen(read(plan_id=4), "id", plan_id=5)) == [NARROW]
    assert hints(hook, chosen(read("/others", plan_id=1), "id", plan_id=2)) == [NARROW]
    assert sent(hook, cached) == [{"path": "/orders"}]


def register(name):
    given = base_pb2.ExecutePlanRequest(session_id="s")
    given.plan.command.register_function.function_name = name
    return given


def statement(sql):
    given = base_pb2.ExecutePlanRequest(session_id="s")
    given.plan.command.sql_command.input.sql.query = sql
    return given


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [
        (register("twice"), True),
        (register("LIKE"), False),
        (statement("CREATE TEMPORARY FUNCTION `==` AS 'x'"), False),
    ],
)
def test_function_in_the_place_of_an_operator_keeps_conditions_in_spark(client, given, is_kept):
    hook = NarrowPlans(client, OPERATORS)
    hook.on_execute_plan(given)
    condition = function("==", attribute("id"), literal(1))
    assert hints(hook, filtered(read(), condition)) == [
        '[null, ["`id` == 1"], null]' if is_kept else WHOLE
    ]
    assert hints(hook, filtered(read(), text("id = 1"))) == ['[null, ["id = 1"], null]']


def test_spark_of_today_has_its_own_operators_always(client):
    hook = NarrowPlans(client)
    hook.on_execute_plan(register("=="))
    condition = function("==", attribute("id"), literal(1))
    assert hints(hook, filtered(read(), condition)) == ['[null, ["`id` == 1"], null]']
