from pathlib import Path

import pytest

from hudi_pyspark.query.base_files import duplicate_key_column, page_reads
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.filters import filtered_differences, filters_of

CASES = [case for case in load_cases(Path(__file__).parent) if case.is_covered]


@pytest.fixture(autouse=True)
def _small_files_are_read_like_large_ones(monkeypatch):
    """Golden tables are small: what only pays for large files is tried on them all the same."""
    monkeypatch.setattr(page_reads, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(page_reads, "_MOST_PAGES", 1.0)
    monkeypatch.setattr(page_reads, "_MOST_ROWS", 1.0)
    monkeypatch.setattr(duplicate_key_column, "_FEWEST_BYTES", 0)


@pytest.mark.filterwarnings("ignore:incremental query of")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_filtered_read_gives_the_rows_of_apache_hudi_that_fulfil_the_filter(case, tmp_path):
    path = case.extract(tmp_path)
    known = [
        q
        for q in case.queries
        if q.rows is not None and q.key not in accepted_deviations() and "cdc" not in q.name
    ]
    for query in known[:4]:
        for made in filters_of(query.expected_rows()):
            found = filtered_differences(query, path, made)
            assert not found, f"{query.name} where {made.text}: {found}"
