"""Parquet files that pyarrow cannot open, for another reason than damage."""

import pyarrow as pa
import pytest

from hudi_pyspark.format.parquet.checked_file import unknown_type_error

# What the releases say of a file with a VARIANT column.
MESSAGES = {
    "19.0.1": "Metadata contains Thrift LogicalType that is not recognized",
    "20.0.0": "Logical type Undefined cannot be applied to group node",
    "21.0.0": "Logical type Variant cannot be applied to group node",
}


@pytest.mark.parametrize(("version", "message"), MESSAGES.items())
def test_pyarrow_that_does_not_know_a_type_is_told_to_be_upgraded(monkeypatch, version, message):
    monkeypatch.setattr(pa, "__version__", version)
    error = unknown_type_error(OSError(message), "f.parquet")
    assert error is not None
    assert f"f.parquet: pyarrow {version} does not know" in error.reason()
    assert "pyarrow 22 or later" in error.reason()


@pytest.mark.parametrize(
    ("version", "message"), [("19.0.1", "Corrupt snappy data"), ("22.0.0", MESSAGES["21.0.0"])]
)
def test_damage_is_not_taken_for_an_unknown_type(monkeypatch, version, message):
    monkeypatch.setattr(pa, "__version__", version)
    assert unknown_type_error(OSError(message), "f.parquet") is None
