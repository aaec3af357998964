"""Commit ranges, for jobs that read what has changed since they last ran."""

from hudi_pyspark.inspection.definition import Rows, with_columns
from hudi_pyspark.options.read_options import ReadOptions, key_of
from hudi_pyspark.planning.query import resolve_query
from hudi_pyspark.table.view import TableView


@with_columns("begin, end, is_empty bool")
def commit_range(view: TableView, begin: str, end: str, *, cdc: bool) -> Rows:
    """Return the row of one range; see `Inspection.commit_range`."""
    given = {"query_type": "incremental", "begin": begin, "end": end, "cdc": str(cdc).lower()}
    options = ReadOptions.parse({key_of(name): text for name, text in given.items() if text})
    assert options.incremental is not None  # by the query type
    parsed, query_end = options.incremental, resolve_query(view, options).end
    return [{"begin": parsed.begin, "end": query_end, "is_empty": query_end <= parsed.begin}]
