"""What Apache Hudi reads from golden tables, for engines that plan on them."""

from collections import Counter

import polars as pl
import pyarrow as pa
from hypothesis import settings

from tests.conftest import GOLDEN
from tests.frames.conditions import Words
from tests.golden.case import load_case

POLARS = Words(
    pl.col,
    lambda values, listed: values.is_in(listed),
    lambda values: values.is_not_null(),
    lambda texts, prefix: texts.str.starts_with(prefix),
)
CASES = [
    "v9_mor_all_types",
    "v6_cow_all_types",
    "v9_mor_mdt_indexes",
    "v9_cow_keygen_slashes",
    "v8_cow_schema_evolution",
    "v9_mor_timestamp_ntz",
]
MOR = "v9_mor_compaction_inline"
COUNT = settings().max_examples // 8  # conditions for each table; `make test-property`: 250


def snapshot(case: str, schema: pa.Schema) -> pa.Table:
    """What Apache Hudi reads, in the types of pyarrow that columns have here."""
    query = next(q for q in load_case(GOLDEN / case).queries if q.name == "snapshot")
    return query.expected_rows().select(schema.names).cast(schema)


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(map(str, rows.to_pylist()))
