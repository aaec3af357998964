"""Compare two snapshots row by row, and the states of one record commit by commit."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import as_one_array, differing_values
from hudi_pyspark.columns.text import json_text
from hudi_pyspark.errors import (
    MissingFileError,
    SchemaEvolutionError,
    TimeTravelError,
    UnsupportedQueryError,
)
from hudi_pyspark.format.column_names import find_path, resolve_field
from hudi_pyspark.inspection.commits import known_commits
from hudi_pyspark.inspection.definition import InspectionRows, instant_row, with_columns
from hudi_pyspark.table import meta_columns
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.view import TableView

INSERT, UPDATE, DELETE = "insert", "update", "delete"
_KEYS = (meta_columns.PARTITION_PATH_COLUMN, meta_columns.RECORD_KEY_COLUMN)
HIDDEN = {*meta_columns.META_COLUMNS, meta_columns.OPERATION_COLUMN}


def compared_columns(
    config: TableConfig, schema: pa.Schema, requested: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the columns that make up the key of a row, and the columns to compare.

    Args:
        config: of the table.
        schema: columns of both snapshots.
        requested: columns to compare, in any case; all but the meta columns if None.

    Raises:
        UnsupportedQueryError: the table has no record key by which rows are identified.
        InvalidOptionError: a column does not exist.
    """
    compared = [name for name in schema.names if name not in HIDDEN]
    if config.populate_meta_fields:
        keys = [*_KEYS]
    else:
        fields = [*config.partition_fields, *config.record_key_fields]
        paths = [find_path(name, schema) for name in fields]
        keys = [path[0] for path in paths if len(path) == 1]
        if not config.record_key_fields or len(keys) < len(fields):
            raise UnsupportedQueryError(
                f"rows of two snapshots cannot be matched: table {config.name!r} has no meta "
                f"columns, and its key fields ({', '.join(fields) or 'none'}) are not columns"
            )
    if requested is not None:
        compared = [resolve_field(name, schema, nested=False).name for name in requested]
    return keys, compared


def diff_snapshots(
    before: pa.Table, after: pa.Table, keys: Sequence[str], compared: Sequence[str]
) -> pa.Table:
    """Compare two snapshots by key; see `HudiTable.diff`.

    Args:
        before: the earlier rows, with the columns that they have of ``keys`` and ``compared``.
        after: the later rows.
        keys: names of the columns that identify a row. Rows that share their key are told apart by
            their values.
        compared: names of the columns to compare.

    Returns:
        ``change``, the keys, ``changed_columns``, ``before``, ``after``: updates first, then
        inserts, then deletes, each in order of their keys.

    Raises:
        SchemaEvolutionError: a column's old values do not fit its new type.
    """
    names = dict.fromkeys([*keys, *compared])
    names_after = {*after.column_names}
    owners = [after if name in names_after else before for name in names]
    schema = pa.schema([owner.schema.field(n) for n, owner in zip(names, owners, strict=True)])
    # Scans return rows in any order; the answer has the order of the keys.
    order = [(name, "ascending") for name in keys]
    old, new = (_conform(side, schema).sort_by(order) for side in (before, after))
    old_keys, new_keys = _texts(old, keys), _texts(new, keys)
    repeated = pa.concat_arrays([_repeated(old_keys), _repeated(new_keys)])
    old_keys = _identities(old, old_keys, repeated)
    new_keys = _identities(new, new_keys, repeated)
    places = pc.index_in(new_keys, value_set=old_keys)
    was = old.take(places.drop_null())
    now = new.filter(places.is_valid())
    differs = {name: differing_values(was.column(name), now.column(name)) for name in compared}
    is_changed = np.logical_or.reduce([*differs.values(), np.zeros(now.num_rows, np.bool_)])
    updated = np.flatnonzero(is_changed)
    changed = [[name for name in compared if differs[name][row]] for row in updated]
    images = {
        "changed_columns": pa.array(changed, pa.list_(pa.string())),
        "before": _struct(was.take(updated), compared),
        "after": _struct(now.take(updated), compared),
    }
    inserted = new.filter(places.is_null())
    deleted = old.filter(pc.invert(pc.is_in(old_keys, value_set=new_keys)))
    parts = [
        _part(UPDATE, now.take(updated), keys, images),
        _part(INSERT, inserted, keys, {"after": _struct(inserted, compared)}),
        _part(DELETE, deleted, keys, {"before": _struct(deleted, compared)}),
    ]
    return pa.concat_tables(parts, promote_options="default")  # a column that a part lacks is null


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if table.schema.get_field_index(field.name) < 0:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        try:
            columns.append(table.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            old_type = table.schema.field(field.name).type
            raise SchemaEvolutionError(
                f"column {field.name!r} was {old_type} and is {field.type} now, and its old "
                f"values do not fit: {error}",
                advice="Compare the other columns",
            ) from error
    return pa.Table.from_arrays(columns, schema=schema)


def _identities(table: pa.Table, keys: pa.Array, repeated: pa.Array) -> pa.Array:
    """Return unique keys: a row whose key is repeated is identified by all of its values.

    Equal rows are numbered, so the first of them meets the first of the other snapshot.
    """
    is_repeated = pc.is_in(keys, value_set=repeated)
    seen: Counter[str] = Counter()
    unique = []
    for text in _texts(table.filter(is_repeated), table.column_names).to_pylist():
        seen[text] += 1
        unique.append(f"{seen[text]} {text}")  # no key begins with a digit
    return pc.replace_with_mask(keys, is_repeated, pa.array(unique, pa.string()))


def _repeated(keys: pa.Array) -> pa.Array:
    counted = keys.value_counts()
    return counted.field("values").filter(pc.greater(counted.field("counts"), 1))


def _texts(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return one text per row. Texts are equal if and only if the values of the columns are."""
    return json_text(_struct(table, names))


def _struct(table: pa.Table, names: Sequence[str]) -> pa.Array:
    columns = table.select(names)  # its to_struct_array() fails in pyarrow 19 if there is no row
    arrays = [*map(as_one_array, columns.columns)]
    return pa.StructArray.from_arrays(arrays, fields=[*columns.schema])


def _part(
    change: str, rows: pa.Table, keys: Sequence[str], images: Mapping[str, pa.Array]
) -> pa.Table:
    columns = {name: rows.column(name) for name in keys}
    return pa.table({"change": pa.repeat(change, rows.num_rows), **columns, **images})


@with_columns(
    "requested_time, completion_time, operation, change, changed_columns texts, partition_path, "
    "before, after, problem"
)
def record_history(view: TableView, lookup: Callable[[str | None], pa.Table]) -> InspectionRows:
    """Yield one row per change of a record; see `HudiTable.history`.

    Args:
        view: the table.
        lookup: returns the rows with the record's key as of an instant; None for the latest.
    """
    all_commits = known_commits(view, archived=True)
    commits = [c for c in all_commits if not c.metadata.operation_type.is_table_service]
    before: pa.Table | None = None
    problem = None  # why earlier states are unknown
    for commit in commits:
        time = commit.instant.requested_time
        try:
            after = lookup(None if commit is commits[-1] else time)
        except (TimeTravelError, MissingFileError) as error:
            problem = error.reason()
            continue
        row = {
            **instant_row(commit.instant),
            "operation": commit.metadata.operation_type.value,
            "problem": problem,
        }
        changes = _changes(after.slice(0, 0) if before is None else before, after, time)
        if before is None and problem is not None:  # an unknown commit made the first change
            changes = [{**c, "change": "present"} for c in changes] or [{"change": "absent"}]
        yield from ({**row, **change} for change in changes)
        before = after
        problem = None


def _changes(before: pa.Table, after: pa.Table, time: str) -> list[dict[str, object]]:
    """Return how a record's state after a commit differs from the state before.

    A commit that wrote the same values again is an update without changed columns. The partition
    path belongs to the key: a record that moved was deleted and inserted.
    """
    names = dict.fromkeys([*after.column_names, *before.column_names])
    compared = [name for name in names if name not in HIDDEN]
    changes = diff_snapshots(before, after, _KEYS, compared)
    if not changes.num_rows and time in after[meta_columns.COMMIT_TIME_COLUMN].to_pylist():
        return [{"change": UPDATE, "changed_columns": []}]
    columns = {
        "change": changes["change"],
        "changed_columns": changes["changed_columns"],
        "partition_path": changes[meta_columns.PARTITION_PATH_COLUMN],
        # As JSON, since columns change over time. Python lacks some of the values.
        "before": _image_texts(changes["before"]),
        "after": _image_texts(changes["after"]),
    }
    rows: list[dict[str, object]] = pa.table(columns).to_pylist()
    return rows


def _image_texts(images: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = [pc.if_else(chunk.is_valid(), json_text(chunk), None) for chunk in images.chunks]
    return pa.chunked_array(texts, pa.string())
