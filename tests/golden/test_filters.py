from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, thresholds
from tests.golden.case import load_cases
from tests.golden.deviations import accepted_deviations
from tests.golden.filters import filtered_differences, filters_of
from tests.sampling import SAMPLED, sample

CASES = [case for case in load_cases(Path(__file__).parent) if case.is_covered]
EXTRA = load_cases(Path(__file__).parent.with_name("golden_extra"))
# Rows whose files hold another partition value than their folder, or the folder none.
PARTITION_VALUES = [case for case in EXTRA if "_pv_" in case.name or "_pt_" in case.name]


@pytest.fixture(autouse=True)
def _small_files_are_read_like_large_ones(monkeypatch):
    """Golden tables are small: what only pays for large files is tried on them, too."""
    monkeypatch.setattr(thresholds, "PAGED_COLUMN_BYTES", 0)
    monkeypatch.setattr(thresholds, "MOST_PAGES", 1.0)
    monkeypatch.setattr(thresholds, "ROWS_OF_PAGE", 0)


def known_queries(case):
    return [
        q
        for q in case.queries
        if q.answer is not None and q.key not in accepted_deviations() and "cdc" not in q.name
    ]


@pytest.mark.filterwarnings("ignore:incremental query of")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@SAMPLED
def test_filtered_read_gives_the_rows_of_apache_hudi_that_fulfil_the_filter(
    case, is_whole, tmp_path
):
    path = case.extract(tmp_path)
    for number, query in enumerate(known_queries(case)[:4]):
        filters = list(filters_of(query.expected_rows()))
        # All filters of a case's first query, and each third one of the others.
        some = filters[number % 3 :: 3] if number else filters
        some = some if is_whole else sample(some, query.key, 8)
        assert filtered_differences(query, path, some) == {}, query.name


@pytest.mark.filterwarnings("ignore:incremental query of")
@pytest.mark.parametrize("case", PARTITION_VALUES, ids=lambda case: case.name)
@SAMPLED
def test_row_is_returned_exactly_where_its_shown_partition_value_passes(case, is_whole, tmp_path):
    path = case.extract(tmp_path)
    partition_columns = HudiTable(str(path)).config.partition_fields
    for number, query in enumerate(known_queries(case)):
        shown = query.expected_rows().select([*partition_columns, "id"])
        filters = list(filters_of(shown, per_column=2 if number else 8))
        filters = filters if is_whole else sample(filters, query.key, 8)
        found = filtered_differences(query, path, filters)
        assert found == {}, query.name
