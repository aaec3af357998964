"""What the lines below "Reading it" of a report must give: Apache Hudi's rows."""

import pyarrow as pa
import pyarrow.compute as pc

from tests.conftest import GOLDEN
from tests.golden.case import load_case

CASES = ["v6_mor_part_basic", "v9_mor_drop_partition_columns"]


def expected_rows(case: str) -> tuple[pa.Table, pa.Table]:
    """The rows of the latest snapshot, and those of them that the last commit wrote."""
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    rows = query.expected_rows()
    last = pc.max(rows["_hoodie_commit_time"])
    changed = rows.filter(pc.equal(rows["_hoodie_commit_time"], last))
    assert 0 < changed.num_rows < rows.num_rows
    return rows, changed


def texts(rows: pa.Table) -> list[str]:
    """The rows as comparable texts, in one order."""
    return sorted(map(repr, rows.to_pylist()))
