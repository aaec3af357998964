"""Names of columns in any case: an exact match comes first.

Spark writes a column under the name that a data frame gives it and treats names that differ only in
case as one column. So the files of one table may spell a column in several ways. Whoever looks for
a name says what it means:

    find_path        a name in the table's properties, or of a payload class: () if the table lacks
                     it (`spelled` is the same as one text)
    match_names      columns of a file for those of the table: each at most once, without those that
                     the file lacks
    resolve_field    what a user wrote: an error suggests the nearest name

None of them chooses between several names that differ from the given one in case alone: each
refuses. So `match_names` has to see all columns that a name may mean. Whoever reads a part of a
table's columns asks `case_variants` which columns stay together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.format.nested_types import is_variant
from hudi_pyspark.wording import nearest


def find_path(name: str, schema: pa.Schema) -> tuple[str, ...]:
    """Return the path of a column, or of a nested field by its dotted name, as a schema spells it.

    The first part is the column, whose own name may have dots. () if the schema lacks the field.

    Raises:
        CorruptTableError: several columns differ from the name in case alone.
    """
    names = schema.names
    column = _only_spelling(name, names)
    if column:
        return (column,)
    head, _, tail = name.partition(".")
    column = _only_spelling(head, names) if tail else ""
    if not column:
        return ()
    path = find_path(tail, pa.schema(_named_fields(schema.field(column).type)))
    return (column, *path) if path else ()


def spelled(name: str, schema: pa.Schema) -> str:
    """Return the dotted name of a field as a schema spells it; a name that it lacks stays.

    Raises:
        CorruptTableError: several columns differ from the name in case alone.
    """
    return ".".join(find_path(name, schema)) or name


def _only_spelling(name: str, names: Collection[str]) -> str:
    """Return how ``names`` spell a name; "" if they lack it."""
    found = _spellings(name, names)
    if len(found) > 1:
        raise CorruptTableError(
            f"the field {name} may be {' or '.join(map(repr, found))}, which differ only in case",
            advice="Spell it like one of them in .hoodie/hoodie.properties, or rename a column",
        )
    return found[0] if found else ""


def match_names(
    requested: Iterable[str],
    stored_names: Collection[str],
    *,
    place: str = "",
    kind: str = "column",
) -> dict[str, str]:
    """Map requested names to stored names, in requested order; missing names are left out.

    Exact matches come first. The remaining names on both sides are matched ignoring case.

    Args:
        requested: names of the table's columns.
        stored_names: of a file's columns.
        place: the file, for errors.
        kind: what the names are of, for errors.

    Raises:
        SchemaEvolutionError: remaining names of one side differ only in case, or a stored name that
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
                raise _ambiguous(
                    f"{kind} {' and '.join(map(repr, missing[lower]))} may be "
                    f"{' or '.join(map(repr, unmatched[lower]))}, which differ only in case",
                    place,
                )
            matched[missing[lower][0]] = unmatched[lower][0]
    if len(unique) < len(stored_names):
        counts = Counter(stored_names)
        for name in matched.values():
            if counts[name] > 1:
                raise _ambiguous(
                    f"{kind} {name!r} may be any of {counts[name]} of that name", place
                )
    return {name: matched[name] for name in names if name in matched}


def _by_lower_case(names: Iterable[str]) -> dict[str, list[str]]:
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(name.lower(), []).append(name)
    return spellings


def _ambiguous(found: str, place: str) -> SchemaEvolutionError:
    return SchemaEvolutionError(
        found,
        place,
        "Apache Hudi cannot read such a file either: write it again with one of the columns, or "
        "rename one of them in the table",
    )


def case_variants(requested: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Map the names that may mean a requested one to that one; others are left out.

    A name that is not requested itself means the first one that differs from it in case alone.
    """
    requested_names = dict.fromkeys(requested)
    variants = {}
    by_lower_case: dict[str, str] = {}
    for name in names:
        if name in requested_names:
            variants[name] = name
            continue
        if not by_lower_case:
            by_lower_case = {n.lower(): n for n in reversed(requested_names)}
        if (requested_name := by_lower_case.get(name.lower())) is not None:
            variants[name] = requested_name
    return variants


def resolve_field(
    written: str, schema: pa.Schema, *, owner: str = "table", nested: bool = True
) -> pa.Field:
    """Return a column, or a nested field with its dotted name as a schema spells it.

    Args:
        written: a column, or a nested field by its dotted name, in any case.
        schema: the columns to choose from.
        owner: what has these columns; part of the error.
        nested: whether a nested field may be meant.

    Raises:
        InvalidOptionError: the schema has no such field, or several that differ only in case. The
            message suggests the nearest name.
    """
    names = schema.names
    is_column = not nested or bool(_spellings(written, names))
    head, *parts = [written] if is_column else written.split(".")
    column = schema.field(_resolve_name(head, names, owner))
    for part in parts:
        fields = {f"{column.name}.{field.name}": field for field in _named_fields(column.type)}
        # A column without fields has none of that name, even if a column has the dotted name.
        choice = list(fields) or [name for name in names if "." not in name]
        name = _resolve_name(f"{column.name}.{part}", choice, owner)
        column = fields[name].with_name(name)
    return column


def _resolve_name(written: str, names: Sequence[str], owner: str) -> str:
    found = _spellings(written, names)
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


def _spellings(name: str, names: Collection[str]) -> list[str]:
    """Return how ``names`` spell a name: exactly, or else all that differ in case alone."""
    if name in names:
        return [name]
    lower = name.lower()
    return [candidate for candidate in names if candidate.lower() == lower]


def _named_fields(data_type: pa.DataType) -> list[pa.Field]:
    """Return the fields that dotted names reach: those of a struct, but none of a variant."""
    return list(data_type) if pa.types.is_struct(data_type) and not is_variant(data_type) else []
