import pyarrow as pa
import pytest

from hudi_pyspark.format.nested_types import resolve_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TS", "ts"),
        ("S.TS", "s.Ts"),
        ("s.Ts", "s.Ts"),
        ("x.y", "x.y"),
        ("s.z", "s.z"),
        ("A.B", "a.b"),
    ],
)
def test_dotted_names_are_spelled_as_in_the_schema(name, expected):
    schema = pa.schema({"ts": pa.int64(), "s": pa.struct({"Ts": pa.int64()}), "a.b": pa.int64()})
    assert resolve_path(name, schema) == expected
