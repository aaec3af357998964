"""The decoder against fastavro, and against damaged bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptAvroError
from hudi_pyspark.format.avro.decoder import decode_records
from hudi_pyspark.format.avro.schema import AvroRecord, arrow_schema, parse_schema
from tests.property.avro_strategies import decode, encode, tables

# Lists of few records are searched differently than lists of many.
MANY = 60

pytestmark = pytest.mark.property
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(tables())
def test_decodes_few_and_many_records_as_fastavro_does(table):
    schema, records = table
    raw, starts, ends = encode(schema, records)
    parsed = parse_schema(json.dumps(schema))
    expected = decode(schema, raw, len(records))
    for times in (1, MANY):
        decoded = decode_records(parsed, raw, np.tile(starts, times), np.tile(ends, times))
        decoded.validate(full=True)
        assert decoded.schema == arrow_schema(parsed)
        assert decoded.to_pylist() == expected * times


@quick
@given(tables(least=1), st.data())
def test_column_subset_equals_the_columns_of_the_whole(table, data):
    schema, records = table
    raw, starts, ends = encode(schema, records)
    parsed = parse_schema(json.dumps(schema))
    names = [field.name for field in parsed.fields]
    wanted = data.draw(st.lists(st.sampled_from([*names, "absent"]), unique=True))
    times = data.draw(st.sampled_from([1, MANY]))
    starts, ends = np.tile(starts, times), np.tile(ends, times)
    whole = decode_records(parsed, raw, starts, ends)
    part = decode_records(parsed, raw, starts, ends, wanted)
    assert part.num_rows == whole.num_rows
    assert part.equals(whole.select([name for name in names if name in wanted]))


@quick
@given(tables(least=2), st.integers(1, 3))
def test_runs_of_any_length_give_the_same_rows(table, run_records):
    schema, records = table
    raw, starts, ends = encode(schema, records)
    parsed = parse_schema(json.dumps(schema))
    expected = decode_records(parsed, raw, starts, ends).to_pylist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "RUN_RECORDS", run_records)
        assert decode_records(parsed, raw, starts, ends).to_pylist() == expected


def decode_or_refuse(
    schema: AvroRecord, raw: bytes, starts: np.ndarray, ends: np.ndarray, times: int
) -> CorruptAvroError | None:
    """Decode the records that many times; any other error than the one returned is a failure."""
    try:
        table = decode_records(schema, raw, np.tile(starts, times), np.tile(ends, times))
    except CorruptAvroError as error:
        return error
    table.validate(full=True)
    return None


def outcome(schema: AvroRecord, raw: bytes, starts: np.ndarray, ends: np.ndarray) -> object:
    """Return the columns of the records as text, or the error."""
    try:
        columns = decode_records(schema, raw, starts, ends).columns
    except CorruptAvroError as error:
        return str(error), error.record, error.field
    # Python has no date for each value of the type.
    return [column.to_string(window=1 << 20, container_window=1 << 20) for column in columns]


@st.composite
def damages(draw: st.DrawFn, raw: bytes) -> bytes:
    damaged = bytearray(raw)
    for _ in range(draw(st.integers(1, 4))):
        if not damaged:
            break
        at = draw(st.integers(0, len(damaged) - 1))
        damaged[at] = draw(st.integers(0, 255) | st.sampled_from([0x7F, 0x80, 0xFF]))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(damaged)))
        damaged[at : at + 10] = b"\xff" * draw(st.sampled_from([4, 9, 10, 11])) + b"\x01"
    return bytes(damaged)


@quick
@given(tables(least=1), st.data())
def test_damaged_bytes_are_refused_or_decoded(table, data):
    schema, records = table
    raw, starts, ends = encode(schema, records)
    parsed = parse_schema(json.dumps(schema))
    for _ in range(3):  # to draw another table takes longer
        damaged = data.draw(damages(raw))
        size = data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))
        first, last = np.minimum(starts, size), np.minimum(ends, size)
        for times in (1, MANY):
            refused = decode_or_refuse(parsed, damaged[:size], first, last, times)
            assert refused is None or refused.record < len(records)


@quick
@given(st.binary(max_size=60), tables(least=1))
def test_random_bytes_are_refused_or_decoded(raw, table):
    parsed = parse_schema(json.dumps(table[0]))
    for times in (1, MANY):
        refused = decode_or_refuse(parsed, raw, np.zeros(1, int), np.full(1, len(raw)), times)
        assert refused is None or refused.record == 0
