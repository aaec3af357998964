"""A walk over a plan of Spark Connect: each read of this source gets what is needed above it.

A client sends a plan that no one has analysed: it has names, but not what they refer to. So the
walk collects every name that is used above a read, whatever it may mean there, and a read keeps
each column that has one of these names. Too many names only read more; a missing one would lose a
column. Therefore everything is safe by default:

- A relation is looked into only where its kind is listed below, and only while it has no field that
  is not listed with it: a later Spark may give it another meaning. Otherwise all columns are needed
  below it (`UNKNOWN`), and no condition or limit goes on.
- `_PASSING` adds the names that it uses to those from above. `_CHOOSING` replaces them, since its
  result has only the columns that it names. `_WHOLE` needs all columns of its inputs.
- A condition goes down only through relations that keep rows and names as they are
  (`_KEEP_CONDITIONS`), a limit only through those that keep their number (`_KEEP_LIMITS`).
- Text of SQL is not parsed: `scan_sql` collects its words, and refuses what it cannot tell apart.

The result is a hint: the plan stays as it was, and Spark still applies each condition and limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql.connect.plan import LogicalPlan
from pyspark.sql.connect.proto import relations_pb2

from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.connect import expressions
from hudi_pyspark.spark.connect.names_in_sql import UnclearError, scan_sql
from hudi_pyspark.spark.hints import OPTION, REQUEST, ClientHints, Path

# Relations that look at the columns which they name, and pass the others on. With a field that is
# not here, they may do something else.
_PASSING = {
    "filter": {"input", "condition"},
    "sort": {"input", "order", "is_global"},
    "limit": {"input", "limit"},
    "offset": {"input", "offset"},
    "tail": {"input", "limit"},
    "subquery_alias": {"input", "alias", "qualifier"},
    "with_columns": {"input", "aliases"},
    "with_columns_renamed": {"input", "rename_columns_map", "renames"},
    "drop": {"input", "columns", "column_names"},
    "deduplicate": {"input", "column_names", "all_columns_as_keys", "within_watermark"},
    "join": {"left", "right", "join_condition", "join_type", "using_columns"},
    "repartition": {"input", "num_partitions", "shuffle"},
    "repartition_by_expression": {"input", "partition_exprs", "num_partitions"},
    "hint": {"input", "name", "parameters"},
    "sample": {
        "input", "lower_bound", "upper_bound", "with_replacement", "seed", "deterministic_order",
    },
    "collect_metrics": {"input", "name", "metrics"},
    "with_watermark": {"input", "event_time", "delay_threshold"},
}  # fmt: skip
# Relations whose result has the columns that they name, and no others.
_CHOOSING = {
    "project": {"input", "expressions"},
    "aggregate": {
        "input", "group_type", "grouping_expressions", "aggregate_expressions", "pivot",
        "grouping_sets",
    },
    "unpivot": {"input", "ids", "values", "variable_column_name", "value_column_name"},
}  # fmt: skip
# Relations that need every column of their inputs, and name no column from below them.
_WHOLE = frozenset(
    {
        "apply_in_pandas_with_state", "approx_quantile", "as_of_join", "co_group_map", "corr",
        "cov", "crosstab", "describe", "drop_na", "fill_na", "freq_items", "group_map",
        "html_string", "map_partitions", "parse", "replace", "sample_by", "set_op", "show_string",
        "summary", "to_df", "to_schema", "transpose",
    }
)  # fmt: skip
# A condition above them holds for the same rows below them.
_KEEP_CONDITIONS = frozenset(
    {"drop", "filter", "hint", "repartition", "repartition_by_expression", "sort", "subquery_alias"}
)
_KEEP_LIMITS = frozenset({"drop", "hint", "limit", "subquery_alias"})
_KNOWN_GROUPS = range(1, 6)
_MAX_LIMIT = 1 << 30


@dataclass(frozen=True)
class Needs:
    """What is needed of a relation."""

    # Names that are used above it; None if something above may use unknown ones.
    paths: frozenset[Path] | None = frozenset()
    is_whole: bool = True  # something above uses all of its columns
    conditions: tuple[str, ...] = ()  # texts of filters that the rows must pass above it
    limit: int | None = None  # most rows that are taken; None for all

    def plus(self, message: Any) -> Needs:  # noqa: ANN401  (protobuf)
        """Return the needs below a relation or an expression, before conditions and limits."""
        try:
            names = expressions.Names().add(message)
        except UnclearError:
            return UNKNOWN
        if self.paths is None:
            return UNKNOWN
        return Needs(self.paths | names.paths, self.is_whole or names.has_star)


UNKNOWN = Needs(None)


@dataclass
class Walk:
    """One walk over a plan, which it changes."""

    views: Mapping[str, Any]  # what the temporary views of the session read, by name
    pinned: Collection[bytes]  # keys of reads that may be cached, whose plans stay as they are
    request: str = ""  # names the request whose reads see the newest state; "" for none
    reads: list[Any] = field(default_factory=list)  # data sources of this package on the way

    def visit(self, relation: Any, needs: Needs) -> None:  # noqa: ANN401  (protobuf)
        """Give the reads below a relation their hints."""
        kind = relation.WhichOneof("rel_type")
        if kind is None:
            return
        node = getattr(relation, kind)
        if kind == "read":
            self._read(relation, needs)
        elif kind == "sql":
            self._sql(relation, [], needs)
        elif kind == "with_relations":
            self._with_relations(relation, needs)
        else:
            below = _below(kind, node, needs)
            for child in _children(node):
                self.visit(child, below)

    def _read(self, relation: Any, needs: Needs) -> None:  # noqa: ANN401
        read = relation.read
        if read.WhichOneof("read_type") == "named_table":
            self._named(relation, needs)
            return
        source = read.data_source
        names = {name.lower() for name in source.options}
        if not is_ours(source) or any(name.startswith("inspect") for name in names):
            return
        self.reads.append(source)
        if key_of(source) in self.pinned or OPTION in names:
            return
        is_whole = needs.is_whole or needs.paths is None or bool(source.schema)
        hints = ClientHints(None if is_whole else needs.paths)
        if not read.is_streaming:
            hints = replace(hints, filters=needs.conditions, limit=needs.limit)
        source.options[OPTION] = hints.to_option()
        if self.request:
            source.options[REQUEST] = self.request

    def _named(self, relation: Any, needs: Needs) -> None:  # noqa: ANN401
        """Put what a view reads in its place."""
        table = relation.read.named_table
        try:
            path = expressions.split_name(table.unparsed_identifier)
        except UnclearError:
            return
        view = self.views.get(path[0].lower()) if len(path) == 1 else None
        if view is None or table.options or relation.read.is_streaming:
            return
        relation.subquery_alias.alias = path[0]
        relation.subquery_alias.input.CopyFrom(view)
        self.visit(relation.subquery_alias.input, needs)

    def _sql(self, relation: Any, references: list[Any], needs: Needs) -> None:  # noqa: ANN401
        """Give a query of SQL its relations in place of the views that it reads."""
        below = Needs(needs.paths, is_whole=False).plus(relation.sql)
        for reference in references:
            self.visit(reference, below)
        if below.is_whole or below.paths is None:
            return
        text = scan_sql(relation.sql.query)
        if not text.shows(needs.paths or ()):
            return
        # The server makes views of the references, and Spark frees what is cached of one it drops.
        unpinned = [v for v, read in self.views.items() if not keys_of(read) & set(self.pinned)]
        names = {v: f"hudi_py_{uuid.uuid4().hex}" for v in unpinned if text.reads(v)}
        query = text.with_views(names) if names else None
        if query is None:
            return
        changed = relations_pb2.Relation()
        changed.common.CopyFrom(relation.common)
        changed.with_relations.root.sql.CopyFrom(relation.sql)
        changed.with_relations.root.sql.query = query
        for view, name in names.items():
            reference = changed.with_relations.references.add()
            reference.common.plan_id = LogicalPlan._fresh_plan_id()  # noqa: SLF001  (Sail needs one)
            alias = reference.subquery_alias
            alias.alias = name
            alias.input.CopyFrom(self.views[view])
            self.visit(alias.input, below)
        changed.with_relations.references.extend(references)
        relation.CopyFrom(changed)

    def _with_relations(self, relation: Any, needs: Needs) -> None:  # noqa: ANN401
        node = relation.with_relations
        if node.root.WhichOneof("rel_type") == "sql":
            inner = deepcopy(node.root)
            self._sql(inner, list(node.references), needs)
            if inner.WhichOneof("rel_type") == "with_relations":
                inner.common.CopyFrom(relation.common)
                relation.CopyFrom(inner)
            return
        # A subquery may name columns of the query around it, and the other way round.
        try:
            names = expressions.Names().add(node, with_relations=True)
        except UnclearError:
            needs = UNKNOWN
        else:
            paths = None if needs.paths is None else needs.paths | names.paths
            needs = replace(needs, paths=paths)
        self.visit(node.root, needs)
        for reference in node.references:
            self.visit(reference, Needs(needs.paths))


def is_ours(source: Any) -> bool:  # noqa: ANN401  (protobuf)
    """Return whether a data source of a plan is the one of this package."""
    return bool(source.format.lower() == SHORT_NAME)


def key_of(source: Any) -> bytes:  # noqa: ANN401  (protobuf)
    """Return what is the same for reads that Spark takes from the same cache."""
    return bytes(source.SerializeToString(deterministic=True))


def leaves_of(relation: Any) -> Iterator[Any]:  # noqa: ANN401  (protobuf)
    """Yield the relations that have no others below them."""
    node = getattr(relation, relation.WhichOneof("rel_type") or "common")
    children = list(_children(node))
    if not children:
        yield relation
    for child in children:
        yield from leaves_of(child)


def keys_of(relation: Any) -> set[bytes]:  # noqa: ANN401  (protobuf)
    """Return the keys of the reads of this package below a relation."""
    sources = (leaf.read.data_source for leaf in leaves_of(relation))
    return {key_of(source) for source in sources if is_ours(source)}


def _children(node: Any) -> Iterator[Any]:  # noqa: ANN401
    for _, value in node.ListFields():
        for part in expressions.parts_of(value):
            if not isinstance(part, str) and part.DESCRIPTOR.name == "Relation":
                yield part


def _below(kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
    """Return what a relation needs of its inputs."""
    fields = {each.name for each, _ in node.ListFields()}
    if kind in _WHOLE:
        below = replace(needs.plus(node), is_whole=True)
        is_shown = kind in ("show_string", "html_string")
        return replace(below, limit=_smaller(None, node.num_rows + 1)) if is_shown else below
    if kind in _CHOOSING and fields <= _CHOOSING[kind]:
        return _below_choice(kind, node, needs)
    if kind in _PASSING and fields <= _PASSING[kind]:
        return _below_passing(kind, node, needs)
    return UNKNOWN


def _below_passing(kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
    below = needs
    # Names that are dropped are not needed.
    for message in node.columns if kind == "drop" else (node,):
        below = below.plus(message)
    conditions = needs.conditions if kind in _KEEP_CONDITIONS else ()
    if kind == "filter" and below.paths is not None:
        conditions += tuple(expressions.condition_texts(node.condition))
    limit = needs.limit if kind in _KEEP_LIMITS else None
    if kind == "limit":
        limit = _smaller(limit, node.limit)
    needs_keys = kind == "deduplicate" and not node.column_names
    # A sample that must be the same sorts by all columns.
    is_whole = below.is_whole or needs_keys or (kind == "sample" and node.deterministic_order)
    return replace(below, is_whole=is_whole, conditions=conditions, limit=limit)


def _below_choice(kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
    below = replace(needs, is_whole=False).plus(node)
    if below.paths is None or (kind == "aggregate" and node.group_type not in _KNOWN_GROUPS):
        return UNKNOWN
    if kind == "unpivot" and not node.HasField("values"):
        return replace(below, is_whole=True)
    if kind == "project" and all(_is_column(each) for each in node.expressions):
        return replace(below, conditions=needs.conditions, limit=needs.limit)
    return below


def _is_column(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is a column under its name, or all columns."""
    path = expressions.attribute_path(expression)
    return expressions.is_star(expression) or (path is not None and len(path) == 1)


def _smaller(limit: int | None, other: int) -> int | None:
    if not 0 <= other < _MAX_LIMIT:
        return limit
    return other if limit is None else min(limit, other)
