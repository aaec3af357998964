"""How to read a table: the lines for Spark and Python, and what would be refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import HudiError
from hudi_pyspark.short_name import SHORT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_pyspark.hudi_table import HudiTable
    from hudi_pyspark.report.facts import Facts

_MOST_INSTANTS = 20


def reading_section(table: HudiTable, facts: Facts) -> dict[str, Any]:
    """Return code that reads the table, its newest instants, and the queries that are refused."""
    path = facts.view.storage.describe("")
    column = "completion_time" if facts.view.config.has_completion_times else "requested_time"
    commits = facts.commits[-_MOST_INSTANTS:]
    instants = [row[column] for row in commits if row[column]]
    begin = instants[-2] if len(instants) > 1 else "earliest"
    load = f'spark.read.format("{SHORT_NAME}")'
    opened = f"table = HudiTable({_quoted(path)})"
    end = f".load({_quoted(path)})"
    queries: dict[str, Callable[[], object]] = {
        "snapshot": table.scan,
        "read_optimized": lambda: table.scan(query_type="read_optimized"),
        "incremental": lambda: table.scan(begin="earliest"),
    }
    if facts.view.config.cdc_enabled:
        queries["changes"] = table.changes
    if instants:
        queries["time travel"] = lambda: table.scan(as_of=commits[-1]["requested_time"])
    return {
        "spark": {
            "snapshot": f"{load}{end}",
            "incremental": f'{load}.option("begin", "{begin}"){end}',
        },
        "python": {
            "open": f"from hudi_pyspark import HudiTable\n\n{opened}",
            "snapshot": "rows = table.scan().to_arrow()  # or pandas, polars, duckdb",
            "incremental": f'changed = table.scan(begin="{begin}").to_arrow()',
        },
        "instants": [
            {"instant": row[column], "operation": row["operation"], "records": row["records"]}
            for row in reversed(commits)
        ],
        "refused": [
            {"query": name, "reason": reason}
            for name, query in queries.items()
            if (reason := _refusal(query))
        ],
    }


def _refusal(query: Callable[[], object]) -> str:
    """Return why a query is refused; "" if it is not."""
    try:
        query()
    except HudiError as error:
        return str(error)
    return ""


def _quoted(text: str) -> str:
    """Return a literal of Python, with signs that a page might turn around in escapes."""
    return json.dumps(text)
