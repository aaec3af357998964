"""Names of columns in files matched with the wanted ones: exactly, or else without case.

Spark writes a column under the name that a data frame gives it, and takes names that differ in case
alone for the same column, so the files of a table may spell one in several ways.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa


class AmbiguousNamesError(ValueError):
    """Raised where names that differ in case alone could each be the wanted one."""


def match_names(wanted: Iterable[str], stored: Collection[str]) -> dict[str, str]:
    """Map wanted names to stored ones, in the order of the wanted ones; leave out missing ones.

    A name is matched exactly where that is possible. What is left on both sides is matched without
    case.

    Raises:
        AmbiguousNamesError: names that are left on one side differ in case alone.
    """
    names = dict.fromkeys(wanted)
    exact = names.keys() & set(stored)
    if len(exact) == len(names):
        return {name: name for name in names}
    left = _by_lower_case(name for name in dict.fromkeys(stored) if name not in exact)
    missing = _by_lower_case(name for name in names if name not in exact)
    matched = {name: name for name in exact}
    for lower in missing.keys() & left.keys():
        if len(left[lower]) > 1 or len(missing[lower]) > 1:
            raise AmbiguousNamesError(
                f"{' and '.join(map(repr, missing[lower]))} may be "
                f"{' or '.join(map(repr, left[lower]))}, which differ in case alone"
            )
        matched[missing[lower][0]] = left[lower][0]
    return {name: matched[name] for name in names if name in matched}


def _by_lower_case(names: Iterable[str]) -> dict[str, list[str]]:
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(name.lower(), []).append(name)
    return spellings


def spelled(name: str, names: Collection[str]) -> str | None:
    """Return a name as it is among some: the same, or the first that differs in case alone."""
    if name in names:
        return name
    lower = name.lower()
    return next((candidate for candidate in names if candidate.lower() == lower), None)


def spelled_path(name: str, schema: pa.Schema) -> str:
    """Return the name of a column, or a dotted one of a nested field, as a schema spells it.

    A name that the schema lacks remains as it is.
    """
    if (column := spelled(name, schema.names)) is not None:
        return column
    head, _, rest = name.partition(".")
    if not rest or (column := spelled(head, schema.names)) is None:
        return name
    data_type = schema.field(column).type
    inner = pa.schema(list(data_type)) if pa.types.is_struct(data_type) else pa.schema([])
    return f"{column}.{spelled_path(rest, inner)}"


def with_names(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table under other names, or itself if it has them already."""
    wanted = list(names)
    return table if table.schema.names == wanted else table.rename_columns(wanted)
