"""Names of columns in any case: an exact match comes first.

Spark writes a column under the name that a data frame gives it and treats names that differ only in
case as one column. So the files of one table may spell a column in several ways. Who looks for a
name says what it means:

    find_path, find_column          a name in the table's properties, or of a payload class: None if
                                    the table lacks it
    match_columns, match_names      the columns of a file for those of the table: each at most once,
                                    without those that the file lacks
    resolve_field, resolve_name     what a user wrote: an error suggests the nearest name
    case_variants                   all columns that a file may have instead of some columns

None of them chooses between several names that differ from the given one in case alone: each
refuses, except `case_variants`, which returns them all.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.format.nested_types import is_variant
from hudi_pyspark.wording import nearest


def spellings(name: str, names: Collection[str]) -> list[str]:
    """Return how ``names`` spell a name: exactly, or else all that differ in case alone."""
    if name in names:
        return [name]
    lower = name.lower()
    return [candidate for candidate in names if candidate.lower() == lower]


def find_column(name: str, schema: pa.Schema) -> str | None:
    """Return the column of a name, or of the first part of a dotted name; None if absent.

    Raises:
        CorruptTableError: several columns differ from the name in case alone.
    """
    found = spellings(name, schema.names) or spellings(name.partition(".")[0], schema.names)
    if len(found) > 1:
        raise CorruptTableError(
            f"the field {name} may be {' or '.join(map(repr, found))}, which differ only in case",
            advice="Spell it like one of them in .hoodie/hoodie.properties, or rename a column",
        )
    return found[0] if found else None


def find_path(name: str, schema: pa.Schema) -> str:
    """Return the name of a column, or the dotted name of a nested field, as a schema spells it.

    Parts that the schema lacks stay as they are.

    Raises:
        CorruptTableError: as `find_column`.
    """
    column = find_column(name, schema)
    if column is None:
        return name
    _, _, tail = name.partition(".")
    if not tail or spellings(name, schema.names):
        return column
    data_type = schema.field(column).type
    fields = pa.schema(list(data_type)) if pa.types.is_struct(data_type) else pa.schema([])
    return f"{column}.{find_path(tail, fields)}"


def case_variants(names: Iterable[str], columns: pa.Schema) -> pa.Schema:
    """Return the named columns, and columns whose names differ from them in case alone.

    A file may have any one of them.
    """
    lower_names = {name.lower() for name in names}
    return pa.schema(field for field in columns if field.name.lower() in lower_names)


class AmbiguousNamesError(ValueError):
    """Several columns may be the requested one: their names differ only in case, or not at all."""


def match_names(requested: Iterable[str], stored_names: Collection[str]) -> dict[str, str]:
    """Map requested names to stored names, in requested order; missing names are left out.

    Exact matches come first. The remaining names on both sides are matched ignoring case.

    Raises:
        AmbiguousNamesError: remaining names of one side differ only in case, or a stored name that
            is requested occurs twice.
    """
    names = dict.fromkeys(requested)
    unique = dict.fromkeys(stored_names)
    matched = {name: name for name in names if name in unique}
    if len(matched) < len(names):
        missing = _by_lower_case(name for name in names if name not in unique)
        unmatched = _by_lower_case(name for name in unique if name not in names)
        for lower in missing.keys() & unmatched.keys():
            if len(unmatched[lower]) > 1 or len(missing[lower]) > 1:
                raise AmbiguousNamesError(
                    f"{' and '.join(map(repr, missing[lower]))} may be "
                    f"{' or '.join(map(repr, unmatched[lower]))}, which differ only in case"
                )
            matched[missing[lower][0]] = unmatched[lower][0]
    if len(unique) < len(stored_names):
        counts = Counter(stored_names)
        for name in matched.values():
            if counts[name] > 1:
                raise AmbiguousNamesError(f"{name!r} may be any of {counts[name]} of that name")
    return {name: matched[name] for name in names if name in matched}


def _by_lower_case(names: Iterable[str]) -> dict[str, list[str]]:
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(name.lower(), []).append(name)
    return spellings


def match_columns(
    requested: Iterable[str], stored_names: Collection[str], *, source: str
) -> dict[str, str]:
    """Map requested columns to the columns of a file, as `match_names` does.

    Raises:
        SchemaEvolutionError: the file has a requested column under several names; ``source`` names
            the file.
    """
    try:
        return match_names(requested, stored_names)
    except AmbiguousNamesError as error:
        raise SchemaEvolutionError(
            f"{source}: column {error}",
            advice=(
                "Apache Hudi cannot read such a file either: write it again with one of the "
                "columns, or rename one of them in the table"
            ),
        ) from error


def resolve_name(written: str, names: Sequence[str], *, owner: str = "table") -> str:
    """Return a column name as ``names`` spell it: exactly, or else in any case.

    Args:
        written: the name in any case.
        names: of the columns to choose from.
        owner: what has these columns; part of the error.

    Raises:
        InvalidOptionError: the column is missing, or several names differ only in case. The message
            suggests the nearest name.
    """
    found = spellings(written, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidOptionError(
            f"the column {written!r} may be {' or '.join(map(repr, found))}, which differ only in "
            "case: write the name in its case"
        )
    by_lower_case = {name.lower(): name for name in names}
    near = nearest(written.lower(), by_lower_case)
    hint = f" (did you mean {near!r}?)" if near else ""
    raise InvalidOptionError(
        f"the {owner} has no column {written!r}{hint}; it has {', '.join(names)}"
    )


def _named_fields(data_type: pa.DataType) -> list[pa.Field]:
    """Return the fields that dotted names reach: those of a struct, but none of a variant."""
    return list(data_type) if pa.types.is_struct(data_type) and not is_variant(data_type) else []


def resolve_field(written: str, schema: pa.Schema) -> pa.Field:
    """Return a column, or a nested field with its dotted name as a schema spells it.

    Args:
        written: a column, or a nested field by its dotted name, in any case.
        schema: of the table.

    Raises:
        InvalidOptionError: the schema has no such field, or several that differ only in case.
    """
    is_column = bool(spellings(written, schema.names))
    head, *parts = [written] if is_column else written.split(".")
    column = schema.field(resolve_name(head, schema.names))
    for part in parts:
        fields = {f"{column.name}.{field.name}": field for field in _named_fields(column.type)}
        # A column without fields has none of that name, even if a column has the dotted name.
        names = list(fields) or [name for name in schema.names if "." not in name]
        name = resolve_name(f"{column.name}.{part}", names)
        column = fields[name].with_name(name)
    return column
