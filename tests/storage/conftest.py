"""Fixtures of several modules."""

from itertools import chain, repeat
from unittest.mock import Mock

import pytest

from tests.storage.clock import Clock


@pytest.fixture
def clock(monkeypatch):
    """The pauses between attempts take no time; the clock says how long they would be."""
    clock = Clock()
    monkeypatch.setattr("hudi_pyspark.storage.retries.time", clock)
    return clock


@pytest.fixture
def no_libhdfs(monkeypatch):
    """What pyarrow says without libhdfs; it keeps a library that another test has loaded."""
    first = OSError("Unable to load libhdfs: libhdfs.so: cannot open shared object file\nmore")
    later = OSError("Prior attempt to load libhdfs failed")
    said = Mock(side_effect=chain([first], repeat(later)))
    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", said)
