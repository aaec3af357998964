import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.reading.merge.loaded_log import BUCKETS, key_buckets

COUNT = 100_000


@pytest.mark.parametrize("passes", [2, 16, BUCKETS])
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([str(n) for n in range(COUNT)], id="numbers"),
        pytest.param([f"{n:012}" for n in range(COUNT)], id="padded-numbers"),
        pytest.param([f"key-{256 * n}" for n in range(COUNT)], id="multiples"),
        pytest.param([f"country:US,id:{n},day:2024-01-01" for n in range(COUNT)], id="composite"),
        pytest.param([str(uuid.UUID(int=n * 2**60 + n)) for n in range(COUNT)], id="uuids"),
        pytest.param(["x" * 1000 + str(n) for n in range(COUNT // 10)], id="long-common-prefix"),
    ],
)
def test_keys_are_spread_evenly(keys, passes):
    counts = np.bincount(key_buckets(pa.array(keys)) % passes, minlength=passes)
    expected = len(keys) / passes
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)


@pytest.mark.property
@given(st.lists(st.text(max_size=30) | st.none()), st.integers(0, 5))
def test_bucket_is_that_of_the_text_alone(texts, start):
    keys = pa.array(texts, pa.string())
    one_by_one = [int(key_buckets(pa.array([text], pa.string()))[0]) for text in texts]
    assert key_buckets(keys).tolist() == one_by_one
    assert key_buckets(keys[start:]).tolist() == one_by_one[start:]
    assert key_buckets(keys.cast(pa.large_string())).tolist() == one_by_one
    assert key_buckets(keys.dictionary_encode()).tolist() == one_by_one
    assert all(0 <= bucket < BUCKETS for bucket in one_by_one)


def test_length_counts():
    assert len(set(key_buckets(pa.array(["", "\0", "\0\0", "\0" * 8, "\0" * 9])).tolist())) == 5
