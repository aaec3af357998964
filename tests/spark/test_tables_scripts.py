"""Scripts of SQL over tables by name have the rows of Apache Hudi's bundle.

The bundle of Apache Hudi 1.2.0 answered the same scripts on Spark 3.5, in a session with its
catalog: see tests/golden_sql. The writing half of the quick start is the bundle's.
"""

import re

import pytest

from tests.golden.case import load_case
from tests.golden_sql.script import FOLDER, NAMES, answer, statements

pytestmark = pytest.mark.spark

BUNDLE = load_case(FOLDER)
# What a script for the bundle has to change: Spark's own timestamps are no instants.
INSTANT = re.compile(r"TIMESTAMP AS OF '(\d{17})'")


@pytest.mark.parametrize("name", NAMES)
def test_scripts_have_the_answers_of_the_bundle(sql, golden_table, tmp_path, name):
    path = str(tmp_path)
    BUNDLE.extract(tmp_path)
    for case in ("v9_mor_compaction_inline", "v9_cow_cdc_data_before"):
        (tmp_path / case).symlink_to(golden_table(case))
    asked = list(statements(name, {**BUNDLE.facts["values"], "path": path}))
    expected = BUNDLE.recorded("answers")[name]
    assert sum(each is not None for each in expected) >= 10
    for statement, known in zip(asked, expected, strict=True):
        text = INSTANT.sub(r"VERSION AS OF '\1'", statement)
        assert answer(sql, text, path) == known, statement
