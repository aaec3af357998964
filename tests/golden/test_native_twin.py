"""Tables of version 9, rewritten as version 10, answer as before."""

import zipfile

import pytest

from hudi_pyspark.format.data_files import is_native_log_name
from tests.conftest import GOLDEN
from tests.golden.case import load_cases
from tests.golden.native_twin import native_twin
from tests.golden.run import run_case

# In version 10, a delete without ordering values loses where there are several ordering fields
# (v10_mor_multi_ordering). Native logs of failed writes are not read (v9_mor_corrupt_log_block).
OTHER_RULES = {"v9_mor_multi_ordering", "v9_mor_corrupt_log_block"}
CASES = [
    case
    for case in load_cases(GOLDEN)
    if case.name.startswith("v9_mor") and case.name not in OTHER_RULES
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_table_with_native_logs_answers_as_apache_hudi(case):
    outcomes = list(run_case(native_twin(case)))
    assert outcomes
    assert [(o.query.name, o.problems) for o in outcomes if o.problems] == []


ALL = [*load_cases(GOLDEN), *load_cases(GOLDEN.with_name("golden_extra"))]


def test_no_file_of_an_earlier_version_is_named_like_a_native_log():
    native = 0
    others = 0
    for case in ALL:
        with zipfile.ZipFile(case.folder / "table.zip") as archive:
            names = [name.rpartition("/")[2] for name in archive.namelist()]
        found = sum(map(is_native_log_name, names))
        native += found
        others += len(names) if not case.name.startswith("v10") else 0
        assert found == 0 or case.name.startswith("v10"), case.name
    assert native > 100
    assert others > 8_000
