"""The hook of a session of Spark Connect, and what it remembers of the session."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql.connect.proto import base_pb2, relations_pb2

from hudi_pyspark.messages import logger
from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.connect.names_in_sql import UnclearError, scan_sql, view_definition
from hudi_pyspark.spark.connect.plan import Needs, Walk, is_ours, keys_of, leaves_of
from hudi_pyspark.spark.hints import OPTION, ClientHints
from hudi_pyspark.spark.optimizer import ENABLED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_log = logger(__name__)
_INPUTS = {
    "write_operation": "input",
    "write_operation_v2": "input",
    "create_dataframe_view": "input",
    "write_stream_operation_start": "input",
    "checkpoint_command": "relation",
    "merge_into_table_command": "source_table_plan",
}
_QUERIES = frozenset({"(", "DESC", "DESCRIBE", "EXPLAIN", "SELECT", "SET", "SHOW", "WITH"})
_MAX_MESSAGE = 127 << 20  # of gRPC, with room for the rest of the request
_HOOK = "_hudi_pyspark_hook"
_MAX_VIEW = 1 << 20


def switch_hook(spark: SparkSession, *, is_on: bool) -> str:
    """Let a session's client narrow its plans from now on or not; return why not, "" if it does."""
    client: Any = spark.client
    hook: NarrowPlans | None = getattr(client, _HOOK, None)
    if hook is None and is_on:
        hook = NarrowPlans(client._session_id)  # noqa: SLF001  (no public way to a session's hooks)
        if hasattr(client, "_session_hooks"):
            client._session_hooks.append(hook)  # noqa: SLF001
        else:
            _intercept(client, hook)  # PySpark 4.0
        _observe(client, hook)
        setattr(client, _HOOK, hook)
    if hook is not None:
        hook.is_on = is_on
    return "" if is_on else f"{ENABLED} is not true"


def reads_of(client: Any, plan: Any) -> list[Any]:  # noqa: ANN401
    """Return the data sources of this package in a plan, as a client would send them."""
    hook: NarrowPlans | None = getattr(client, _HOOK, None)
    if hook is not None and hook.is_on:
        return hook.narrow(plan)
    reads = NarrowPlans("").narrow(plan)
    for source in reads:
        source.options.pop(OPTION, None)
    return reads


def schema_of(client: Any, source: Any) -> StructType:  # noqa: ANN401
    """Return the columns that a data source of a plan reads."""
    read = relations_pb2.Read(data_source=source)
    schema: StructType = client.schema(base_pb2.Plan(root=relations_pb2.Relation(read=read)))
    return schema


def _intercept(client: Any, hook: NarrowPlans) -> None:  # noqa: ANN401
    """Put the hook before the call that sends a plan."""
    stub = client._stub  # noqa: SLF001
    send = stub.ExecutePlan

    def narrowed(request: Any, **options: Any) -> Any:  # noqa: ANN401
        return send(hook.on_execute_plan(request), **options)

    stub.ExecutePlan = narrowed


def _observe(client: Any, hook: NarrowPlans) -> None:  # noqa: ANN401
    """Learn of the views that the session makes, once they exist, and of what it caches."""
    execute, analyze = client.execute_command, client._analyze  # noqa: SLF001

    def execute_command(command: Any, *more: Any, **options: Any) -> Any:  # noqa: ANN401
        change = hook.change_of(command)
        hook.forget(change)  # until it has succeeded
        answer = execute(command, *more, **options)
        hook.views.update({name: known for name, known in change.items() if known is not None})
        return answer

    def _analyze(method: str, **options: Any) -> Any:  # noqa: ANN401
        if method == "persist":
            hook.pin(options["relation"])
        answer = analyze(method, **options)
        if method == "unpersist":
            hook.unpin(options["relation"])
        return answer

    client.execute_command = execute_command
    client._analyze = _analyze  # noqa: SLF001


class NarrowPlans:
    """Gives the reads in the plans of one session their hints; a `SparkSession.Hook`."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._cached: list[bytes] = []  # the keys of reads in what the session has persisted
        self._forever: set[bytes] = set()  # the same of what SQL has cached
        self.views: dict[str, Any] = {}  # what temporary views read, by name in lower case
        self.is_on = True  # whether plans are changed
        self._request = ""  # a name of the request that is sent

    def on_execute_plan(self, request: Any) -> Any:  # noqa: ANN401  (protobuf)
        """Return the request to send; without hints if anything is unexpected."""
        if request.session_id != self._session_id or not self.is_on:
            return request  # of another session, with which PySpark shares the hooks of this one
        try:
            changed = deepcopy(request)
            self._request = uuid4().hex
            self.narrow(changed.plan)
            return changed if changed.ByteSize() < _MAX_MESSAGE else request
        except Exception as error:  # noqa: BLE001  (a query must not fail for the sake of speed)
            _log.info("a plan is sent as it is: %s: %.300s", type(error).__name__, error)
            return request
        finally:
            self._request = ""

    def narrow(self, plan: Any) -> list[Any]:  # noqa: ANN401
        """Change a plan, and return the data sources of this package in it."""
        kind = plan.WhichOneof("op_type")
        if kind == "compressed_operation":
            return self._narrow_compressed(plan.compressed_operation)
        if kind == "command":
            return self._narrow_command(plan.command)
        return self._narrow_relation(plan.root)

    def _narrow_relation(self, relation: Any) -> list[Any]:  # noqa: ANN401
        if relation.WhichOneof("rel_type") == "catalog":
            self._look_at_catalog(relation.catalog)
        walk = Walk(dict(self.views), {*self._cached, *self._forever}, self._request)
        walk.visit(relation, Needs())
        return walk.reads

    def _narrow_command(self, command: Any) -> list[Any]:  # noqa: ANN401
        kind = command.WhichOneof("command_type")
        if kind in _INPUTS:
            if kind == "create_dataframe_view":
                self._request = ""  # others read the view later
            reads = self._narrow_relation(getattr(getattr(command, kind), _INPUTS[kind]))
            for source in reads if kind == "create_dataframe_view" else ():
                if source.options.get(OPTION) == ClientHints().to_option():
                    del source.options[OPTION]  # a cache of the view is that of the table
            return reads
        if kind == "sql_command" and command.sql_command.HasField("input"):
            text = _sql_of(command)
            # Of a query the server only returns the plan, which comes back as a relation.
            if text.split(None, 1)[0].upper() in ("INSERT", "CREATE"):
                return self._narrow_relation(command.sql_command.input)
        return []

    def _narrow_compressed(self, operation: Any) -> list[Any]:  # noqa: ANN401
        import zstandard  # noqa: PLC0415  (PySpark compresses plans only where it is installed)

        plan = base_pb2.Plan()
        part = plan.command if operation.op_type == operation.OP_TYPE_COMMAND else plan.root
        part.ParseFromString(zstandard.decompress(operation.data))
        reads = self.narrow(plan)
        operation.data = zstandard.compress(part.SerializeToString(deterministic=True))
        return reads

    def change_of(self, command: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the views that a command changes, with what they read; None if it is unknown."""
        kind = command.WhichOneof("command_type")
        if kind == "create_dataframe_view":
            view = command.create_dataframe_view
            known = None if view.is_global else _known(view.input)
            return {view.name.strip("`").lower(): known}
        if kind != "sql_command":
            return {}
        return self._change_of_sql(_sql_of(command))

    def _change_of_sql(self, text: str) -> dict[str, Any]:
        first = re.match(r"\s*(\w+|\()", text)
        if first is not None and first[1].upper() in _QUERIES:
            return {}
        defined = view_definition(text)
        if defined is not None:
            view, options = defined
            source = relations_pb2.Read.DataSource(format=SHORT_NAME, options=options)
            read = relations_pb2.Read(data_source=source)
            return {view: _known(relations_pb2.Relation(read=read))}
        try:
            scanned = scan_sql(text)
        except UnclearError:
            changed = list(self.views)
        else:
            named = set().union(*scanned.paths)
            changed = [v for v in self.views if v in named and not scanned.makes_rows]
        if first is not None and first[1].upper() == "CACHE":
            for view in changed:
                self._forever |= keys_of(self.views[view])
        return dict.fromkeys(changed)

    def forget(self, names: dict[str, Any]) -> None:
        """Read these views as they are on the server."""
        for name in names:
            self.views.pop(name, None)

    def _look_at_catalog(self, catalog: Any) -> None:  # noqa: ANN401
        kind = catalog.WhichOneof("cat_type")
        name = getattr(getattr(catalog, kind), "table_name", "").strip("`").lower()
        if kind == "cache_table" and name in self.views:
            self._forever |= keys_of(self.views[name])
        if kind in ("drop_temp_view", "drop_view"):
            name = getattr(catalog, kind).view_name.strip("`").lower()
        self.views.pop(name, None)

    def pin(self, relation: Any) -> None:  # noqa: ANN401
        """Leave the reads of a cached relation as they are: another plan would miss the cache."""
        self._cached += sorted(keys_of(relation))
        for leaf in leaves_of(relation):
            text = str(leaf.sql.query or leaf.read.named_table.unparsed_identifier).lower()
            for view in [view for view in self.views if view in text]:
                self._forever |= keys_of(self.views.pop(view))

    def unpin(self, relation: Any) -> None:  # noqa: ANN401
        """Narrow the reads of a relation again that is no longer cached."""
        for key in keys_of(relation):
            if key in self._cached:
                self._cached.remove(key)


def _sql_of(command: Any) -> str:  # noqa: ANN401
    relation = command.sql_command.input
    if relation.WhichOneof("rel_type") == "with_relations":
        relation = relation.with_relations.root
    return str(relation.sql.query or command.sql_command.sql)


def _known(relation: Any) -> Any:  # noqa: ANN401
    """Return a copy of what a view reads; None if another query could find something else in it."""
    leaves = list(leaves_of(relation))
    is_known = all(is_ours(leaf.read.data_source) and not leaf.read.is_streaming for leaf in leaves)
    return deepcopy(relation) if is_known and relation.ByteSize() <= _MAX_VIEW else None
