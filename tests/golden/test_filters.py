from pathlib import Path

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.reading.base_files import page_reads
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.filters import filtered_differences, filters_of

CASES = [case for case in load_cases(Path(__file__).parent) if case.is_covered]
EXTRA = load_cases(Path(__file__).parent.with_name("golden_extra"))
# Rows whose files hold another partition value than their folder, or the folder none.
PARTITION_VALUES = [case for case in EXTRA if "_pv_" in case.name or "_pt_" in case.name]


@pytest.fixture(autouse=True)
def _small_files_are_read_like_large_ones(monkeypatch):
    """Golden tables are small: what only pays for large files is tried on them, too."""
    monkeypatch.setattr(page_reads, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(page_reads, "_MOST_PAGES", 1.0)
    monkeypatch.setattr(page_reads, "_ROWS_OF_PAGE", 0)


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


@pytest.mark.filterwarnings("ignore:incremental query of")
@pytest.mark.parametrize("case", PARTITION_VALUES, ids=lambda case: case.name)
def test_row_is_returned_exactly_where_its_shown_partition_value_passes(case, tmp_path):
    path = case.extract(tmp_path)
    partition_columns = HudiTable(str(path)).config.partition_fields
    known = [q for q in case.queries if q.rows is not None and "cdc" not in q.name]
    for query in known:
        if query.key in accepted_deviations():
            continue
        rows = query.expected_rows()
        shown = rows.select([*partition_columns, "id"])
        for made in filters_of(shown, per_column=8):
            found = filtered_differences(query, path, made)
            assert not found, f"{query.name} where {made.text}: {found}"
