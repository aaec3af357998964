"""Match column names as Spark does: exactly, or else ignoring case.

Spark writes a column under the name that a data frame gives it and treats names that differ only in
case as one column, so the files of one table may spell a column in several ways.
"""

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError, SchemaEvolutionError
from hudi_pyspark.wording import nearest


class AmbiguousNamesError(ValueError):
    """Several names that differ only in case could be the requested one."""


def match_names(requested: Iterable[str], stored_names: Collection[str]) -> dict[str, str]:
    """Map requested names to stored names, in requested order; missing names are left out.

    Exact matches come first. The remaining names on both sides are matched ignoring case.

    Raises:
        AmbiguousNamesError: remaining names of one side differ only in case.
    """
    names = dict.fromkeys(requested)
    exact = names.keys() & set(stored_names)
    if len(exact) == len(names):
        return {name: name for name in names}
    unmatched = _by_lower_case(name for name in dict.fromkeys(stored_names) if name not in exact)
    missing = _by_lower_case(name for name in names if name not in exact)
    matched = {name: name for name in exact}
    for lower in missing.keys() & unmatched.keys():
        if len(unmatched[lower]) > 1 or len(missing[lower]) > 1:
            raise AmbiguousNamesError(
                f"{' and '.join(map(repr, missing[lower]))} may be "
                f"{' or '.join(map(repr, unmatched[lower]))}, which differ only in case"
            )
        matched[missing[lower][0]] = unmatched[lower][0]
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
            f"{source}: column {error}. Apache Hudi cannot read such a file either: write it again "
            "with one of the columns, or rename one of them in the table"
        ) from error


def rename_columns(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table under other column names; the same table if it has these names already."""
    new_names = list(names)
    return table if table.schema.names == new_names else table.rename_columns(new_names)


def resolve_column(written: str, names: Sequence[str]) -> str:
    """Return a column name as ``names`` spell it: exactly, or else in any case.

    Raises:
        InvalidOptionError: the column is missing, or several names differ only in case. The message
            suggests the nearest name.
    """
    try:
        if matched := match_names([written], names):
            return matched[written]
    except AmbiguousNamesError as error:
        raise InvalidOptionError(f"the column {error}: write the name in its case") from None
    by_lower_case = {name.lower(): name for name in names}
    near = nearest(written.lower(), by_lower_case)
    hint = f" (did you mean {near!r}?)" if near else ""
    raise InvalidOptionError(
        f"the table has no column {written!r}{hint}; it has {', '.join(names)}"
    )
