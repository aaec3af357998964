"""Where a range of commits ends, for jobs that read what has changed since their last run."""

from hudi_pyspark.inspection.definition import InspectionRows, with_columns
from hudi_pyspark.options.read_options import ReadOptions, key_of
from hudi_pyspark.planning.query import resolve_query
from hudi_pyspark.planning.time_travel import resolve_range_end
from hudi_pyspark.table.view import TableView


@with_columns("begin, end, is_empty bool")
def commit_range(view: TableView, begin: str, end: str, *, cdc: bool) -> InspectionRows:
    """Return the row of one range; see `Inspection.commit_range`."""
    texts = {"query_type": "incremental", "begin": begin, "end": end, "cdc": str(cdc).lower()}
    options = ReadOptions.parse({key_of(name): text for name, text in texts.items() if text})
    assert options.incremental is not None  # by the query type
    first = resolve_range_end(options.incremental.begin, view)
    last = resolve_query(view, options, {}).end
    return [{"begin": first, "end": last, "is_empty": last <= first}]
