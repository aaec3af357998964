"""Which records are decoded in plain Python, and which are left to the readers of many records."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hudi_pyspark.errors import CorruptAvroError
from hudi_pyspark.format.avro import decoder
from hudi_pyspark.format.avro.decoder import decode_records
from hudi_pyspark.format.avro.few_records import FEW_RECORDS
from hudi_pyspark.format.avro.schema import parse_schema

TEXT_AND_NUMBER = ["null", "string"], "long"


def decode(
    *kinds: Any, records: list[bytes], columns: list[str] | None = None
) -> list[dict[str, Any]]:
    fields = [{"name": f"c{number}", "type": kind} for number, kind in enumerate(kinds)]
    schema = parse_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))
    edges = np.cumsum([0, *map(len, records)])
    table = decode_records(schema, b"".join(records), edges[:-1], edges[1:], columns)
    table.validate(full=True)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.fixture
def numpy_calls(monkeypatch):
    """The numbers of records for which the readers of many records are asked."""
    calls = []
    read = decoder._TopLevelReader._read_many

    def counted(reader, cursor):
        calls.append(len(cursor))
        return read(reader, cursor)

    monkeypatch.setattr(decoder._TopLevelReader, "_read_many", counted)
    return calls


def test_few_records_of_usual_types_are_decoded_in_plain_python(numpy_calls):
    rows = decode(*TEXT_AND_NUMBER, records=[b"\x02\x04ab\x03", b"\x00\x80\x01"])
    assert rows == [{"c0": "ab", "c1": -2}, {"c0": None, "c1": 64}]
    assert numpy_calls == []


@pytest.mark.parametrize(
    ("count", "calls"), [(FEW_RECORDS, []), (FEW_RECORDS + 1, [FEW_RECORDS + 1])]
)
def test_the_number_of_records_decides(numpy_calls, count, calls):
    assert decode("long", records=[b"\x02"] * count) == [{"c0": 1}] * count
    assert numpy_calls == calls


def test_a_field_of_another_type_leaves_all_fields_to_numpy(numpy_calls):
    array = {"type": "array", "items": "long"}
    assert decode("long", array, records=[b"\x02\x02\x04\x00"]) == [{"c0": 1, "c1": [2]}]
    assert numpy_calls == [1]


@pytest.mark.parametrize(
    ("kind", "raw", "problem"),
    [
        pytest.param("int", b"\x80\x80\x80\x80\x10", "32 bits", id="wide int"),
        pytest.param("long", b"\xff" * 10 + b"\x01", "64 bits", id="wide long"),
        pytest.param("string", b"\x01", "found -1", id="negative length"),
        pytest.param("string", b"\x02\xff", "UTF-8", id="not UTF-8"),
        pytest.param("string", b"\x06ab", "found 3", id="cut off"),
        pytest.param("boolean", b"\x02", "boolean", id="not a boolean"),
        pytest.param(["null", "long"], b"\x04\x02", "branches", id="no such branch"),
        pytest.param("long", b"\x02\x02", "no bytes after", id="bytes left"),
        pytest.param("long", b"", "should begin", id="nothing"),
    ],
)
def test_damage_is_left_to_the_readers_that_name_the_record(numpy_calls, kind, raw, problem):
    with pytest.raises(CorruptAvroError, match=problem) as caught:
        decode(kind, records=[b"\x00", raw])
    assert caught.value.record == 1
    assert numpy_calls == [2]


def test_a_field_that_is_skipped_may_have_a_type_that_cannot_be_read(numpy_calls):
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 100, "scale": 2}
    fixed = {"type": "fixed", "name": "f", "size": 2}
    records = [b"\x04\x01\x02ab\x06"]
    assert decode(decimal, fixed, "long", records=records, columns=["c2"]) == [{"c2": 3}]
    assert numpy_calls == []
