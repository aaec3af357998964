"""The 22 queries, from `queries.sql`."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.queries import Kind, Query

_NUMBERED = re.compile(r"^-- (\d+)\n(.*?);$", re.MULTILINE | re.DOTALL)


def tpch_queries() -> list[Query]:
    """Return the queries in the order of their numbers, named q1 to q22."""
    text = Path(__file__).with_name("queries.sql").read_text()
    return [
        Query(f"q{number}", f"q{number}", Kind.SQL, sql=sql)
        for number, sql in _NUMBERED.findall(text)
    ]
