"""Values of Arrow that are made and read without pandas."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.arrow_values import (
    ZERO,
    is_ascii,
    numbers_at_every_offset,
    text_scalar,
    to_arrow,
    to_numpy,
)
from tests.damage import unpack

flags = st.lists(st.booleans(), max_size=40)
NUMBER_TYPES = (np.int8, np.int32, np.int64, np.uint8, np.float32, np.float64)
READ = """
import sys, warnings
warnings.simplefilter("ignore")
from hudi_pyspark import HudiTable
from hudi_pyspark.spark.datasource import HudiDataSource
source = HudiDataSource({"path": sys.argv[1]})
reader = source.reader(source.schema())
rows = sum(b.num_rows for part in reader.partitions() for b in reader.read(part))
table = HudiTable(sys.argv[1])
for cache in ("memory", "disk", "disk"):
    assert table.scan(merge_cache=cache, merge_cache_folder=sys.argv[2]).count() == rows
print(rows, "pandas" in sys.modules)
"""


@given(st.lists(st.none() | st.text("az\x7f\x80é", max_size=3), max_size=6), st.integers(0, 6))
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_texts_are_ascii_if_python_says_so_of_each(kind, values, start):
    texts = pa.array(values, pa.string()).cast(kind).slice(start)
    assert is_ascii(texts) is all(text is None or text.isascii() for text in values[start:])


@given(flags)
def test_flags_become_what_pyarrow_makes_of_them(values):
    assert to_arrow(np.array(values, np.bool_)).equals(pa.array(values, pa.bool_()))


@pytest.mark.parametrize("number_type", NUMBER_TYPES)
def test_numbers_become_what_pyarrow_makes_of_them(number_type):
    numbers = np.arange(20).astype(number_type)
    for values in (numbers, numbers[:0], numbers[::3], numbers[5:]):
        assert to_arrow(values).equals(pa.array(values))


@given(flags)
def test_values_that_are_not_valid_become_null(is_valid):
    values = np.arange(len(is_valid))
    mask = ~np.array(is_valid, np.bool_)
    assert to_arrow(values, is_valid=~mask).equals(pa.array(values, mask=mask))
    assert to_arrow(values > 2, is_valid=~mask).equals(pa.array(values > 2, mask=mask))


@given(flags, st.integers(0, 40))
def test_flags_are_read_as_numpy_reads_them_and_may_be_changed(values, start):
    array = pa.array(values, pa.bool_()).slice(start)
    mask = to_numpy(array)
    assert mask.dtype == np.bool_
    assert mask.tolist() == values[start:]
    mask |= True


@pytest.mark.parametrize("number_type", NUMBER_TYPES)
def test_numbers_are_read_as_numpy_reads_them(number_type):
    array = pa.array(np.arange(20).astype(number_type))
    for part in (array, array.slice(7), array.slice(20), array.slice(3, 5)):
        numbers = to_numpy(part)
        assert numbers.dtype == number_type
        assert numbers.tolist() == part.to_pylist()


@pytest.mark.parametrize("values", [[1, None], [True, None], [0.5, None], ["a"], [None]])
def test_nulls_and_other_types_are_read_as_numpy_reads_them(values):
    array = pa.array(values)
    np.testing.assert_array_equal(to_numpy(array), np.asarray(array))


@pytest.mark.parametrize("text", ["", "a", "ä\0\U0001f40d"])
def test_text_becomes_the_scalar_that_pyarrow_makes(text):
    assert text_scalar(text).equals(pa.scalar(text))


def test_zero_is_the_integer_0():
    assert ZERO.equals(pa.scalar(0, pa.int32()))


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
@pytest.mark.parametrize("case", ["v9_mor_compaction_inline", "v9_cow_incr_options"])
def test_planning_and_reading_import_no_pandas(case, tmp_path):
    command = [sys.executable, "-c", READ, str(unpack(case, tmp_path)), str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows, is_imported = done.stdout.split()
    assert int(rows) > 0
    assert is_imported == "False"


def test_a_number_begins_at_every_offset():
    data = bytes([1, 0, 2, 0])
    assert numbers_at_every_offset(data, "<u2").tolist() == [1, 512, 2]
    assert numbers_at_every_offset(pa.py_buffer(data), ">u4").tolist() == [0x01000200]
    assert numbers_at_every_offset(b"\1", "<u2").tolist() == []
