"""Rows that show records of log files have the values by which records are ordered."""

import pyarrow as pa
import pytest

from hudi_pyspark.inspection.record_rows import ordering_texts
from tests.reading.log_records.log_files import rule_of

ROWS = pa.table({"ts": [1, 2], "a.b": [3, 4], "s": [{"Ts": 5}, {"Ts": 6}]})


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        pytest.param(["ts"], [["1"], ["2"]], id="column"),
        pytest.param(["TS"], [["1"], ["2"]], id="column in another case"),
        pytest.param(["a.b"], [["3"], ["4"]], id="column whose name has a dot"),
        pytest.param(["S.ts", "ts"], [["5", "1"], ["6", "2"]], id="nested field in another case"),
        pytest.param(["s.x"], [None, None], id="absent nested field"),
        pytest.param(["x"], [None, None], id="absent column"),
    ],
)
def test_ordering_values_are_those_of_the_ordering_fields(fields, texts):
    assert ordering_texts(ROWS, rule_of(ordering_fields=fields)).to_pylist() == texts
