"""The hook of a session by itself: requests in, requests out, without a server."""

import pytest
from pyspark.sql.connect.proto import base_pb2, relations_pb2

from hudi_pyspark.spark.connect import session as session_module
from hudi_pyspark.spark.connect.session import NarrowPlans
from hudi_pyspark.spark.hints import OPTION


def read(path="/orders"):
    relation = relations_pb2.Relation()
    relation.read.data_source.format = "hudi-py"
    relation.read.data_source.options["path"] = path
    return relation


def chosen(relation, *names):
    above = relations_pb2.Relation()
    above.project.input.CopyFrom(relation)
    for name in names:
        above.project.expressions.add().unresolved_attribute.unparsed_identifier = name
    return above


def named(view):
    relation = relations_pb2.Relation()
    relation.read.named_table.unparsed_identifier = view
    return relation


def request(relation, session_id="s"):
    made = base_pb2.ExecutePlanRequest(session_id=session_id)
    made.plan.root.CopyFrom(relation)
    return made


def sql_command(text):
    command = base_pb2.Plan().command
    command.sql_command.input.sql.query = text
    return command


@pytest.fixture
def hook():
    """A hook that knows the view ``orders`` of all columns."""
    made = NarrowPlans("s")
    made.views["orders"] = read()
    return made


def hints(hook, relation):
    """The hints of the reads in what the hook sends."""
    plan = base_pb2.Plan()
    plan.root.CopyFrom(relation)
    return [source.options.get(OPTION) for source in hook.narrow(plan)]


NARROW = '[[["id"]], [], null]'


def test_request_is_narrow_and_given_one_is_unchanged(hook):
    given = request(chosen(read(), "id"))
    sent = hook.on_execute_plan(given)
    assert sent.plan.root.project.input.read.data_source.options[OPTION] == NARROW
    assert given == request(chosen(read(), "id"))


def test_request_of_another_session_is_unchanged(hook):
    given = request(chosen(read(), "id"), "other")
    assert hook.on_execute_plan(given) is given


def test_request_that_would_be_too_large_is_unchanged(hook, monkeypatch):
    given = request(chosen(read(), "id"))
    monkeypatch.setattr(session_module, "_MAX_MESSAGE", given.ByteSize() + 10)
    assert hook.on_execute_plan(given) is given


def test_error_of_the_walk_leaves_the_request_as_it_is(hook, monkeypatch):
    monkeypatch.setattr(session_module, "Walk", None)
    given = request(chosen(read(), "id"))
    assert hook.on_execute_plan(given) is given


@pytest.mark.parametrize(
    "text",
    [
        "DROP VIEW orders",
        "DROP VIEW IF EXISTS `Orders`",
        "ALTER VIEW orders RENAME TO old",
        "ALTER VIEW orders AS SELECT 1 AS id",
        "CREATE OR REPLACE TEMP VIEW orders AS SELECT 1 AS id",
        "CREATE OR REPLACE TEMPORARY VIEW ORDERS (id INT) USING parquet OPTIONS (path '/x')",
        "DECLARE x = $$orders$$",
    ],
)
def test_view_that_a_statement_changes_is_read_as_it_is(hook, text):
    assert hints(hook, chosen(named("orders"), "id")) == [NARROW]
    hook.forget(hook.change_of(sql_command(text)))
    assert hints(hook, chosen(named("orders"), "id")) == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM orders",
        "INSERT INTO t SELECT id FROM orders",
        "DROP TABLE IF EXISTS other",
        "UNCACHE TABLE other",
    ],
)
def test_view_that_a_statement_does_not_change_is_still_known(hook, text):
    assert hook.change_of(sql_command(text)) == {}


def test_view_that_the_catalog_drops_is_read_as_it_is(hook):
    dropped = relations_pb2.Relation()
    dropped.catalog.drop_temp_view.view_name = "Orders"
    assert hints(hook, dropped) == []
    assert hints(hook, chosen(named("orders"), "id")) == []


def test_view_of_a_whole_table_has_no_hints_so_that_its_cache_is_that_of_the_table(hook):
    command = base_pb2.Plan()
    command.command.create_dataframe_view.name = "all"
    view = command.command.create_dataframe_view.input
    view.CopyFrom(read())
    hook.narrow(command)
    assert view == read()
    view.CopyFrom(chosen(read(), "id"))
    hook.narrow(command)
    assert view.project.input.read.data_source.options[OPTION] == NARROW


def test_stream_into_a_function_reads_the_columns_of_its_query(hook):
    plan = base_pb2.Plan()
    start = plan.command.write_stream_operation_start
    start.foreach_batch.python_function.command = b"def of the user"
    start.input.CopyFrom(chosen(read(), "id"))
    start.input.project.input.read.is_streaming = True
    (source,) = hook.narrow(plan)
    assert source.options[OPTION] == NARROW


def test_view_that_reads_other_tables_is_unknown(hook):
    command = base_pb2.Plan().command
    command.create_dataframe_view.name = "joined"
    join = command.create_dataframe_view.input.join
    join.left.CopyFrom(read())
    join.right.CopyFrom(named("other"))
    assert hook.change_of(command) == {"joined": None}


def test_reads_are_pinned_until_all_that_is_cached_is_freed(hook):
    plan = chosen(read(), "id")
    hook.pin(plan)
    hook.pin(chosen(read(), "ts"))
    hook.unpin(plan)
    assert hints(hook, plan) == [None]
    assert hints(hook, chosen(read("/others"), "id")) == [NARROW]
    hook.unpin(chosen(read(), "ts"))
    assert hints(hook, plan) == [NARROW]


@pytest.mark.parametrize(
    "cached",
    [
        "CACHE TABLE orders",
        "cache lazy TABLE `ORDERS`",
        "CACHE TABLE c AS SELECT id FROM orders",
        "CACHE TABLE c AS TABLE orders",
    ],
)
def test_reads_of_a_cached_view_are_pinned(hook, cached):
    hook.forget(hook.change_of(sql_command(cached)))
    assert hints(hook, chosen(read(), "id")) == [None]
    assert hints(hook, chosen(named("orders"), "id")) == []


def test_query_of_a_view_whose_table_is_cached_is_unchanged(hook):
    """Spark would free what is cached, since it drops the view that the reference becomes."""
    query = relations_pb2.Relation()
    query.sql.query = "SELECT id FROM orders"
    sent = hook.on_execute_plan(request(query)).plan.root
    assert [each.common.HasField("plan_id") for each in sent.with_relations.references] == [True]
    hook.pin(read())
    assert hook.on_execute_plan(request(query)).plan.root == query
