"""Spark relays the text of an error, and the text begins with its code."""

import pytest
from pyspark.errors import AnalysisException, PySparkException

from tests.bad_inputs import BAD_INPUTS

pytestmark = pytest.mark.spark

# The first of each class of error: Spark passes on any text. All are in test_scan_bad_input.py.
AT_LOAD = {bad.error: bad for bad in reversed(BAD_INPUTS) if not bad.at_reading}.values()
AT_READING = {bad.error: bad for bad in reversed(BAD_INPUTS) if bad.at_reading}.values()


def assert_says(error: PySparkException, bad) -> None:
    message = str(error)
    assert f"{bad.error.__name__}: [{bad.error.code}] " in message
    assert [text for text in bad.says if text not in message] == []


@pytest.mark.parametrize("bad", AT_LOAD, ids=lambda bad: bad.name)
def test_error_on_the_driver_is_an_analysis_error_with_our_text(bad, spark, tmp_path):
    path = bad.prepare(tmp_path)
    with pytest.raises(AnalysisException) as raised:
        spark.read.format("hudi-py").options(**bad.options).load(str(path)).collect()
    assert_says(raised.value, bad)


@pytest.mark.parametrize("bad", AT_READING, ids=lambda bad: bad.name)
def test_error_in_an_executor_fails_the_query_with_our_text(bad, spark, tmp_path):
    frame = spark.read.format("hudi-py").options(**bad.options).load(str(bad.prepare(tmp_path)))
    with pytest.raises(PySparkException) as raised:
        frame.collect()
    assert not isinstance(raised.value, AnalysisException)
    assert_says(raised.value, bad)


@pytest.mark.parametrize("name", ["version-11", "unknown-query-type"])
def test_wrong_option_or_table_fails_at_load_and_not_at_the_first_action(name, spark, tmp_path):
    bad = next(bad for bad in BAD_INPUTS if bad.name == name)
    path = bad.prepare(tmp_path)
    with pytest.raises(AnalysisException):
        spark.read.format("hudi-py").options(**bad.options).load(str(path))
