"""Change the requests of a Spark Connect session, so that they read less and the newest state.

Each request is changed in two steps before it is sent:

1. Each read of this package gets the name of the request, so that Spark opens the table again. A
   server keeps the plans of a session, and with them the state of a table, as long as a read looks
   the same. Cached relations stay as they are, since Spark finds them by their plan.
2. These reads get signed hints: see `plan.py`. If that fails, they read all columns.

Tables and views that a plan names are the server's. The reads of a view have the name of the
request that created the view, so a view keeps the state in which it was first read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from secrets import token_hex
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.proto import base_pb2, relations_pb2
from pyspark.sql.types import StructType

from hudi_pyspark import thresholds
from hudi_pyspark.messages import logger
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.connect.expressions import OPERATORS
from hudi_pyspark.spark.connect.plan import Needs, Walk, inspects, sources_of
from hudi_pyspark.spark.hints import OPTION, REQUEST

_log = logger(__name__)
_INPUTS = {
    "write_operation": "input",
    "write_operation_v2": "input",
    "create_dataframe_view": "input",
    "write_stream_operation_start": "input",
    "checkpoint_command": "relation",
    "merge_into_table_command": "source_table_plan",
}
# The server may answer any other statement with its plan, which the client sends as a relation.
_WRITES = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(CREATE|INSERT)\b", re.IGNORECASE | re.DOTALL)
_HOOK = "_hudi_pyspark_hook"


def switch_hook(spark: SparkSession, *, is_on: bool) -> str:
    """Turn the narrowing of a session's plans on or off.

    Returns:
        The secret with which the client signs hints; "" if it has never been on.

    Raises:
        AttributeError: the client of the session is not PySpark's.
    """
    client: Any = spark.client
    hook: NarrowPlans | None = getattr(client, _HOOK, None)
    if hook is None and is_on:
        is_old = spark.version < "4.2"  # functions of the session may replace operators
        hook = NarrowPlans(client, OPERATORS if is_old else frozenset())
        if is_old:
            hook.look_at_functions(_functions_of(spark))
        if hasattr(client, "_session_hooks"):
            client._session_hooks.append(hook)  # noqa: SLF001  (the only way to the hooks)
        else:
            _intercept(client, hook)  # PySpark 4.0
        _observe(client, hook)
        setattr(client, _HOOK, hook)
    if hook is None:
        return ""
    hook.is_on = is_on
    return hook.secret


def rename_reads(spark: SparkSession, name: str) -> None:
    """Let the reads in a session's plans have the source of another name, from now on."""
    hook: NarrowPlans | None = getattr(spark.client, _HOOK, None)
    if hook is not None:
        hook.format = name


def _functions_of(spark: SparkSession) -> Iterable[str]:
    """Return the names of the functions that users defined in the session or its catalog."""
    try:
        return [row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()]
    except PySparkException:  # e.g. for lack of a right: any function may be defined
        return OPERATORS


def reads_of(client: Any, plan: Any) -> tuple[list[Any], str]:  # noqa: ANN401
    """Return the data sources of this package in a plan, and the secret that signs their hints.

    The sources have the hints with which the client would send them, unless they are cached. The
    secret is "" if the session does not narrow plans.
    """
    hook: NarrowPlans | None = getattr(client, _HOOK, None)
    secret = ""
    if hook is not None and hook.is_on:
        plan = hook.narrowed(plan, uuid4().hex)[0]
        secret = hook.secret
    return [source for source in sources_of(plan) if not inspects(source)], secret


def schema_of(client: Any, source: Any) -> StructType:  # noqa: ANN401
    """Ask the server for the columns that a data source of a plan reads."""
    read = relations_pb2.Read(data_source=source)
    schema: StructType = client.schema(base_pb2.Plan(root=relations_pb2.Relation(read=read)))
    return schema


def _intercept(client: Any, hook: NarrowPlans) -> None:  # noqa: ANN401
    """Let the hook change each request before the client sends it."""
    stub = client._stub  # noqa: SLF001
    send = stub.ExecutePlan

    def narrowed(request: Any, **options: Any) -> Any:  # noqa: ANN401
        return send(hook.on_execute_plan(request), **options)

    stub.ExecutePlan = narrowed


def _observe(client: Any, hook: NarrowPlans) -> None:  # noqa: ANN401
    """Tell the hook which relations the session caches."""
    analyze = client._analyze  # noqa: SLF001

    def _analyze(method: str, **options: Any) -> Any:  # noqa: ANN401
        answer = analyze(method, **options)
        if method == "persist":
            hook.leave_cached(options["relation"])
        return answer

    client._analyze = _analyze  # noqa: SLF001


class NarrowPlans:
    """A `SparkSession.Hook` that gives hints to the reads in the plans of one session.

    Args:
        client: of the session.
        operators: the operators that a function of the session may replace, in lower case.
    """

    def __init__(self, client: Any, operators: frozenset[str] = frozenset()) -> None:  # noqa: ANN401
        self.is_on = True  # whether plans are changed
        self.secret = token_hex(32)
        self.format = SHORT_NAME  # of the reads that are sent
        self._client = client
        self._session_id = client._session_id  # noqa: SLF001
        self._operators = operators
        self._by_function = True  # whether the operators of conditions are Spark's own functions
        self._cached: dict[int, Any] = {}  # the relations that the session has cached, by plan id

    def on_execute_plan(self, request: Any) -> Any:  # noqa: ANN401  (protobuf)
        """Return the request to send: a changed copy if the request has reads of this package."""
        if request.session_id != self._session_id:
            return request  # PySpark shares the hooks of this session with another session
        try:
            plan = _unpacked(request.plan)
            self._look_for_functions(plan.command)
            if not self.is_on or next(sources_of(plan), None) is None:
                return request
            # A retry sends the same request, so its name is that of the operation.
            plans = self.narrowed(plan, request.operation_id or uuid4().hex)
        except Exception as error:  # noqa: BLE001  (Spark can run the query as it is)
            _log.warning("a plan is sent as it is: %s: %.300s", type(error).__name__, error)
            return request
        for each in plans:
            changed = deepcopy(request)
            _pack(each, changed.plan)
            if changed.ByteSize() < thresholds.MOST_MESSAGE_BYTES:
                return changed
        return request

    def narrowed(self, plan: Any, request: str) -> tuple[Any, Any]:  # noqa: ANN401
        """Return two copies of a plan whose reads open their tables again: with and without hints.

        Args:
            plan: that the client would send.
            request: the name that the reads get.
        """
        renewed = deepcopy(plan)
        for source in sources_of(renewed, self._is_cached):
            source.options.pop(OPTION, None)  # hints of a plan that the server has returned
            source.options[REQUEST] = request
            source.format = self.format
        narrowed = deepcopy(renewed)
        try:
            root = _input_of(narrowed)
            if root is not None:
                Walk(self.secret, by_function=self._by_function).visit(root, Needs())
        except Exception as error:  # noqa: BLE001  (the query works without hints)
            _log.info("reads have all columns: %s: %.300s", type(error).__name__, error)
            return renewed, renewed
        return narrowed, renewed

    def leave_cached(self, relation: Any) -> None:  # noqa: ANN401
        """Leave a relation unchanged in later plans, as long as it is cached."""
        self._cached[relation.common.plan_id] = deepcopy(relation)

    def _is_cached(self, relation: Any) -> bool:  # noqa: ANN401
        plan_id = relation.common.plan_id
        if self._cached.get(plan_id) != relation:
            return False
        # Only the server knows, since another session may have freed the relation.
        answer = self._client._analyze("get_storage_level", relation=relation)  # noqa: SLF001
        level = answer.storage_level
        is_cached = bool(level.useMemory or level.useDisk or level.useOffHeap)
        if not is_cached:
            self._cached.pop(plan_id, None)
        return is_cached

    def look_at_functions(self, names: Iterable[str]) -> None:
        """Leave conditions to Spark if one of the session's functions may replace an operator."""
        if not self._operators.isdisjoint(name.lower() for name in names):
            self._by_function = False

    def _look_for_functions(self, command: Any) -> None:  # noqa: ANN401
        self.look_at_functions([command.register_function.function_name])
        if re.search(r"\bFUNCTION\b", _sql_of(command), re.IGNORECASE):
            self.look_at_functions(self._operators)  # the function may have any name


def _input_of(plan: Any) -> Any:  # noqa: ANN401
    """Return the relation of a plan whose result is used whole; None if the plan has none."""
    if plan.WhichOneof("op_type") != "command":
        return plan.root
    command = plan.command
    kind = command.WhichOneof("command_type")
    if kind in _INPUTS:
        return getattr(getattr(command, kind), _INPUTS[kind])
    return command.sql_command.input if _WRITES.match(_sql_of(command)) else None


def _sql_of(command: Any) -> str:  # noqa: ANN401
    relation = command.sql_command.input
    if relation.WhichOneof("rel_type") == "with_relations":
        relation = relation.with_relations.root
    return str(relation.sql.query or command.sql_command.sql)


def _unpacked(plan: Any) -> Any:  # noqa: ANN401
    """Return a plan, decompressed if it is compressed."""
    if plan.WhichOneof("op_type") != "compressed_operation":
        return plan
    import zstandard  # noqa: PLC0415  (PySpark compresses plans only if this is installed)

    operation = plan.compressed_operation
    unpacked = base_pb2.Plan()
    is_command = operation.op_type == operation.OP_TYPE_COMMAND
    part = unpacked.command if is_command else unpacked.root
    part.ParseFromString(zstandard.decompress(operation.data))
    return unpacked


def _pack(plan: Any, target: Any) -> None:  # noqa: ANN401
    """Replace a plan by another, which is compressed if the replaced plan is."""
    if target.WhichOneof("op_type") != "compressed_operation":
        target.CopyFrom(plan)
        return
    import zstandard  # noqa: PLC0415  (as above)

    part = getattr(plan, plan.WhichOneof("op_type"))
    target.compressed_operation.data = zstandard.compress(part.SerializeToString())
