"""The promise of docs/incremental-without-an-extension.md: pruned columns lose no rows."""

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.options.option import QueryType
from tests.conftest import GOLDEN
from tests.golden.case import load_case

TYPE = "hoodie.datasource.query.type"
TABLES = (
    *("v6_mor_compaction_inline", "v9_mor_clustering", "v9_mor_compaction_inline"),
    *("v9_mor_mdt_indexes", "v10_mor_mdt_indexes", "v9_mor_all_types"),
)
QUERIES = [
    pytest.param(name, query, id=f"{name}-{query.name}")
    for name in TABLES
    for query in load_case(GOLDEN / name).queries
    if query.options.get(TYPE) == QueryType.INCREMENTAL.value and not query.error
]


@pytest.mark.parametrize(("name", "query"), QUERIES)
def test_count_and_one_column_have_the_rows_of_the_range(golden_table, name, query):
    scan = HudiTable(golden_table(name)).scan(**query.options)
    expected = query.expected_rows().num_rows
    assert scan.count() == expected
    assert scan.select(scan.schema.names[-1:]).to_arrow().num_rows == expected
