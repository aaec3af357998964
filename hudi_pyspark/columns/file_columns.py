"""Columns of a table found in one of its files."""

from collections.abc import Collection, Iterable

from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.format.column_names import AmbiguousNamesError, match_names


def match_columns(wanted: Iterable[str], stored: Collection[str], *, source: str) -> dict[str, str]:
    """Map wanted columns to those of a file; see `match_names`.

    Raises:
        SchemaEvolutionError: the file has a wanted column under several names.
    """
    try:
        return match_names(wanted, stored)
    except AmbiguousNamesError as error:
        raise SchemaEvolutionError(
            f"{source}: column {error}. Apache Hudi cannot read such a file either: write it again "
            "with one of the columns, or rename one of them in the table"
        ) from error
