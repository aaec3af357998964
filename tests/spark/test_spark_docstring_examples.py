"""The examples in docstrings of the functions that take a session run as printed."""

import doctest
import re

import pytest

import hudi_pyspark

pytestmark = pytest.mark.spark

FUNCTIONS = [
    hudi_pyspark.read,
    hudi_pyspark.register,
    hudi_pyspark.explain,
    hudi_pyspark.hudi_query,
    hudi_pyspark.hudi_query_timeline,
    hudi_pyspark.hudi_filesystem_view,
    hudi_pyspark.hudi_table_changes,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_example_of_a_function_runs(function, ruled, tmp_path, capsys):
    hudi_pyspark.unpack_demo(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(function)
    assert test.examples
    for example in test.examples:  # Spark was started in another folder
        example.source = re.sub(r'"(\./)?orders"', repr(f"{tmp_path}/orders"), example.source)
    test.globs = {"spark": ruled, "hudi_pyspark": hudi_pyspark}
    doctest.DocTestRunner(verbose=False).run(test)
    assert capsys.readouterr().out == ""
