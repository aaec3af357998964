"""Rows that Spark's `collect` gives become an Arrow table."""

from datetime import date, datetime, timezone
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, types
from pyspark.sql.pandas.types import to_arrow_type

from verification.histories import worker
from verification.histories.answers import Answer, HudiAnswer
from verification.histories.worker import _collected

MOMENT = datetime(1582, 10, 4, 3, 4, 5, 6)  # noqa: DTZ001  (as PySpark gives it, in UTC)
STRUCT = types.StructType([types.StructField("a", types.LongType(), nullable=False)])
SCHEMA = types.StructType(
    [
        types.StructField("map", types.MapType(types.StringType(), types.LongType())),
        types.StructField("list", types.ArrayType(STRUCT)),
        types.StructField("time", types.TimestampType()),
        types.StructField("day", types.DateType(), nullable=False),
        types.StructField("float", types.FloatType()),
        types.StructField("decimal", types.DecimalType(38, 2)),
        types.StructField("bytes", types.BinaryType()),
    ]
)
ROWS = [
    ({"b": 1, "a": 2}, [Row(a=1)], MOMENT, date(1, 1, 1), -0.0, Decimal("1.25"), bytearray(b"x")),
    (None,) * 7,
]
KINDS = {
    "map": pa.map_(pa.string(), pa.int64()),
    "list": pa.list_(pa.struct([("a", pa.int64())])),
    "time": pa.timestamp("us", "UTC"),
    "day": pa.date32(),
    "float": pa.float32(),
    "decimal": pa.decimal128(38, 2),
    "bytes": pa.binary(),
}
OURS = {
    "map": [("a", 2), ("b", 1)],
    "list": [{"a": 1}],
    "time": MOMENT.replace(tzinfo=timezone.utc),
    "day": date(1, 1, 1),
    "float": -0.0,
    "decimal": Decimal("1.25"),
    "bytes": b"x",
}


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark 3.5, beside which workers run, has no other zone; later releases ask for one."""
    monkeypatch.setattr(worker, "to_arrow_type", partial(to_arrow_type, timezone="UTC"))


def frame(**methods: Any) -> Any:
    return SimpleNamespace(schema=SCHEMA, columns=SCHEMA.names, **methods)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_answers_of_both_readers_have_one_form(count: int) -> None:
    theirs = HudiAnswer(_collected(frame(collect=lambda: ROWS[:count])), SCHEMA.jsonValue())
    rows = [OURS, dict.fromkeys(KINDS)][:count]
    ours = pa.Table.from_pylist(rows, pa.schema(list(KINDS.items())))
    assert theirs.answer() == Answer.of(ours)


def test_times_that_python_does_not_have_come_as_arrow() -> None:
    batch = pa.record_batch({"t": pa.array([2**62], pa.timestamp("us", "UTC"))})

    def collect() -> None:
        raise ValueError("year 148108 is out of range")

    assert _collected(frame(collect=collect, _collect_as_arrow=lambda: [batch])).num_rows == 1
