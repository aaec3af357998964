"""Walk a plan of Spark Connect, and give each read of this source hints about what it needs.

A client sends a plan before Spark has analysed it: the plan has names, but not what they refer to.
So the walk collects every name that is used above a read, whatever it means there. A read keeps
each column that has one of these names. A name too many only reads more, and a missing name would
lose a column. Therefore the default is always to read more:

- The walk looks into a relation only if its kind is listed below, and all of its fields are listed
  with the kind: a later Spark may give another field a meaning. Below any other relation all
  columns are needed (`UNKNOWN`), and no condition or limit is passed on.
- A relation in `_PASSING` adds the names that it uses to the names from above. A relation in
  `_CHOOSING` replaces them, since its result has only the columns that it names. A relation in
  `_WHOLE` needs all columns of its inputs.
- A condition passes only relations that keep rows and names as they are (`_KEEP_CONDITIONS`). A
  limit passes only relations that keep the number of rows (`_KEEP_LIMITS`).
- A relation that addresses columns by position needs all columns of its input: see `names_key`.
- Text of SQL is not parsed: `scan_statement` collects its words, and refuses unknown syntax.
- Tables and views that a plan names are the server's, and do not change.

The result is a hint: the plan itself stays as it was, and Spark applies each condition and limit.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hudi_pyspark.short_name import SHORT_NAME, SIGNED_NAME
from hudi_pyspark.spark.connect import expressions
from hudi_pyspark.spark.connect.names_in_sql import UnclearError
from hudi_pyspark.spark.hints import OPTION, REQUEST, ClientHints, FieldPath

# Relations that use the columns that they name, and pass all columns on; with their known fields.
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
# Relations whose result has only the columns that they name; with their known fields.
_CHOOSING = {
    "project": {"input", "expressions"},
    "aggregate": {
        "input", "group_type", "grouping_expressions", "aggregate_expressions", "pivot",
        "grouping_sets",
    },
    "unpivot": {"input", "ids", "values", "variable_column_name", "value_column_name"},
}  # fmt: skip
# Relations that need every column of their inputs.
_WHOLE = frozenset(
    {
        "apply_in_pandas_with_state", "approx_quantile", "as_of_join", "co_group_map", "corr",
        "cov", "crosstab", "describe", "drop_na", "fill_na", "freq_items", "group_map",
        "html_string", "map_partitions", "parse", "replace", "sample_by", "set_op", "show_string",
        "summary", "to_df", "to_schema", "transpose",
    }
)  # fmt: skip
# The fields of relations whose keys may be positions.
_KEYS = {
    "aggregate": ("grouping_expressions",),
    "repartition_by_expression": ("partition_exprs",),
    "sort": ("order",),
}
# A condition above these relations holds for the same rows below them.
_KEEP_CONDITIONS = frozenset(
    {"drop", "filter", "hint", "repartition", "repartition_by_expression", "sort", "subquery_alias"}
)
_KEEP_LIMITS = frozenset({"drop", "hint", "limit", "subquery_alias"})
_KNOWN_GROUPS = range(1, 6)
_MAX_LIMIT = 1 << 30


@dataclass(frozen=True)
class Needs:
    """What the plan above a relation needs of its result."""

    # The names that are used above; None if something above may use unknown names.
    paths: frozenset[FieldPath] | None = frozenset()
    is_whole: bool = True  # whether all columns are used
    conditions: tuple[str, ...] = ()  # texts of filters that hold for all rows that are used
    limit: int | None = None  # the number of rows that are used at most; None for all

    def plus(self, message: Any, relations: Collection[str] = ()) -> "Needs":  # noqa: ANN401  (protobuf)
        """Return these needs and the names of a message, without conditions and a limit.

        Args:
            message: a relation or an expression.
            relations: names of relations that its text of SQL may use, in lower case.
        """
        try:
            names = expressions.Names(relations).add(message)
        except UnclearError:
            return UNKNOWN
        if self.paths is None:
            return UNKNOWN
        return Needs(self.paths | names.paths, self.is_whole or names.has_star)


UNKNOWN = Needs(None)


@dataclass(frozen=True)
class Walk:
    """Walks plans, and adds hints to the options of their reads."""

    secret: str  # with which the client signs hints
    # Whether the operators of conditions are Spark's own functions: see `expressions.OPERATORS`.
    by_function: bool = True

    def visit(self, relation: Any, needs: Needs) -> None:  # noqa: ANN401  (protobuf)
        """Give hints to a relation that is a read, or to the reads below it.

        Only reads with the name of a request get hints: see `hints.REQUEST`.
        """
        kind = relation.WhichOneof("rel_type")
        if kind is None:
            return
        node = getattr(relation, kind)
        if kind == "read":
            self._give_hints(node, needs)
        elif kind == "with_relations":
            self._with_relations(node, needs)
        else:
            below = self._below(kind, node, needs)
            for child in _messages_in(node):
                if child.DESCRIPTOR.name == "Relation":
                    self.visit(child, below)

    def _give_hints(self, read: Any, needs: Needs) -> None:  # noqa: ANN401
        source = read.data_source
        if not is_ours(source) or REQUEST not in source.options or inspects(source):
            return
        is_whole = needs.is_whole or needs.paths is None or bool(source.schema)
        hints = ClientHints(None if is_whole else needs.paths)
        if not read.is_streaming:
            hints = replace(hints, filters=needs.conditions, limit=needs.limit)
        source.options[OPTION] = hints.to_option(source.options[REQUEST], self.secret)

    def _with_relations(self, node: Any, needs: Needs) -> None:  # noqa: ANN401
        if node.root.WhichOneof("rel_type") == "sql":
            aliases = {each.subquery_alias.alias.lower() for each in node.references}
            below = Needs(needs.paths, is_whole=False).plus(node.root.sql, aliases)
            for reference in node.references:
                self.visit(reference, below)
            return
        # A subquery may name columns of the query around it, and that query those of the subquery.
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

    def _below(self, kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
        """Return what a relation needs of its inputs."""
        fields = {each.name for each, _ in node.ListFields()}
        if kind in _WHOLE:
            below = replace(needs.plus(node), is_whole=True)
            is_shown = kind in ("show_string", "html_string")
            return replace(below, limit=_smaller(None, node.num_rows + 1)) if is_shown else below
        if kind in _CHOOSING and fields <= _CHOOSING[kind]:
            return _below_choice(kind, node, needs)
        if kind in _PASSING and fields <= _PASSING[kind]:
            return self._below_passing(kind, node, needs)
        return UNKNOWN

    def _below_passing(self, kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
        below = needs
        # The names of dropped columns are not needed, expressions are.
        for message in node.columns if kind == "drop" else (node,):
            below = below.plus(message)
        conditions = needs.conditions if kind in _KEEP_CONDITIONS else ()
        if kind == "filter" and below.paths is not None:
            conditions += tuple(
                expressions.condition_texts(node.condition, by_function=self.by_function)
            )
        limit = needs.limit if kind in _KEEP_LIMITS else None
        if kind == "limit":
            limit = _smaller(limit, node.limit)
        compares_all = kind == "deduplicate" and not node.column_names
        # A repeatable sample sorts by all columns.
        compares_all |= kind == "sample" and node.deterministic_order
        is_whole = below.is_whole or compares_all or _has_positions(kind, node, below)
        return replace(below, is_whole=is_whole, conditions=conditions, limit=limit)


def sources_of(plan: Any, is_skipped: Callable[[Any], bool] = lambda _: False) -> Iterator[Any]:  # noqa: ANN401
    """Yield the data sources of this package in a plan.

    Args:
        plan: any message of protobuf.
        is_skipped: whether to leave out a relation, with all that is below it.
    """
    waiting = [plan]
    while waiting:
        message = waiting.pop()
        kind = message.DESCRIPTOR.name
        if kind == "Relation" and is_skipped(message):
            continue
        if kind == "Read" and is_ours(message.data_source):
            yield message.data_source
        waiting += reversed(_messages_in(message))


def is_ours(source: Any) -> bool:  # noqa: ANN401  (protobuf)
    """Return whether a data source of a plan is this package's."""
    return source.format.lower() in (SHORT_NAME, SIGNED_NAME)


def inspects(source: Any) -> bool:  # noqa: ANN401  (protobuf)
    """Return whether a data source of this package reads an inspection table."""
    return any(name.lower().startswith("inspect") for name in source.options)


def _messages_in(message: Any) -> list[Any]:  # noqa: ANN401
    parts = (part for _, value in message.ListFields() for part in expressions.parts_of(value))
    return [part for part in parts if not isinstance(part, str)]


def _below_choice(kind: str, node: Any, needs: Needs) -> Needs:  # noqa: ANN401
    below = replace(needs, is_whole=False).plus(node)
    if below.paths is None or (kind == "aggregate" and node.group_type not in _KNOWN_GROUPS):
        return UNKNOWN
    names_all = kind == "unpivot" and not node.HasField("values")
    if names_all or _has_positions(kind, node, below):
        return replace(below, is_whole=True)
    if kind == "project" and all(_is_column(each) for each in node.expressions):
        return replace(below, conditions=needs.conditions, limit=needs.limit)
    return below


def _has_positions(kind: str, node: Any, below: Needs) -> bool:  # noqa: ANN401
    """Return whether a key of a relation may be a position; False if its names are unknown."""
    keys = [key for name in _KEYS.get(kind, ()) for key in getattr(node, name)]
    return below.paths is not None and not all(map(expressions.names_key, keys))


def _is_column(expression: Any) -> bool:  # noqa: ANN401
    """Return whether an expression is a column that keeps its name, or all columns."""
    path = expressions.attribute_path(expression)
    return expressions.is_star(expression) or (path is not None and len(path) == 1)


def _smaller(limit: int | None, new_limit: int) -> int | None:
    if not 0 <= new_limit < _MAX_LIMIT:
        return limit
    return new_limit if limit is None else min(limit, new_limit)
