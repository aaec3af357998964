"""Spark's legacy calendar: what Spark itself makes of the numbers, and which files have it.

`rebased_by_spark.json` has pairs of numbers, before and after: of days, and of microseconds for
each of some zones. They were answered by ``RebaseDateTime.rebaseJulianToGregorianDays`` and
``rebaseJulianToGregorianMicros`` of PySpark 4.3.0; the table of PySpark 3.5 is the same.
"""

import datetime as dt
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.errors import UnsupportedTableError
from hudi_pyspark.format.parquet.legacy_calendar import LegacyCalendar, widen_bounds, with_instants

REFEREE = json.loads(Path(__file__).with_name("rebased_by_spark.json").read_text())
INSTANT = pa.timestamp("us", "UTC")
OLD = -62_000_000_000_000_000  # of the year 5
VERSION, ZONE = "org.apache.spark.version", "org.apache.spark.timeZone"
LEGACY, LEGACY_INT96 = "org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"


def calendar(zone="UTC", **has):
    return LegacyCalendar(**{"has_dates": True, "has_instants": True, **has}, zone=zone, path="f")


def rebased(numbers, data_type, **kwargs):
    integer = pa.int32() if data_type == pa.date32() else pa.int64()
    table = pa.table({"c": pa.array(numbers, integer).view(data_type)})
    found = calendar(**kwargs).to_gregorian(table).column("c").combine_chunks()
    return found.view(integer).to_pylist()


def file_of(tmp_path, metadata, table=None, **options):
    path = tmp_path / "f.parquet"
    table = table if table is not None else pa.table({"d": pa.array([1], pa.date32())})
    pq.write_table(table.replace_schema_metadata(metadata), path, **options)
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def test_days_are_those_of_spark():
    before, after = zip(*REFEREE["days"], strict=True)
    assert rebased(before, pa.date32()) == list(after)


@pytest.mark.parametrize("zone", sorted(REFEREE["instants"]))
def test_instants_are_those_of_spark(zone):
    before, after = zip(*REFEREE["instants"][zone], strict=True)
    assert any(b != a for b, a in zip(before, after, strict=True))
    assert rebased(before, INSTANT, zone=zone) == list(after)


def test_milliseconds_are_rebased_like_microseconds():
    before, after = zip(*REFEREE["instants"]["America/New_York"], strict=True)
    found = rebased([b // 1000 for b in before], pa.timestamp("ms", "UTC"), zone="America/New_York")
    assert found == [a // 1000 for a in after]


def test_local_timestamps_stay_as_they_are():
    assert rebased([OLD], pa.timestamp("us")) == [OLD]


def test_values_at_any_depth_are_rebased():
    old = -719_164  # of 0001-01-01, two days more than in the calendar of today
    days = pa.array([old, None, 10_000], pa.int32()).view(pa.date32())
    struct = pa.StructArray.from_arrays([days], ["d"], mask=pa.array([False, False, True]))
    lists = pa.array([[old, None], None, [10_000]], pa.list_(pa.int32())).cast(
        pa.list_(pa.date32())
    )
    maps = pa.array([[("a", old)], None, []], pa.map_(pa.string(), pa.int32())).cast(
        pa.map_(pa.string(), pa.date32())
    )
    of_lists = pa.array([[[old]], [], None], pa.list_(pa.list_(pa.int32()))).cast(
        pa.list_(pa.list_(pa.date32()))
    )
    table = pa.table({"s": struct, "l": lists, "m": maps, "ll": of_lists})
    found = calendar().to_gregorian(table)
    assert found.schema == table.schema
    found.validate(full=True)
    kept = table.slice(1).to_pylist()
    year_1 = dt.date(1, 1, 1)
    assert found.to_pylist()[0] == {
        "s": {"d": year_1}, "l": [year_1, None], "m": [("a", year_1)], "ll": [[year_1]]
    }  # fmt: skip
    assert found.to_pylist()[1:] == kept
    assert calendar().to_gregorian(table.slice(1)).to_pylist() == kept


def test_recent_values_are_not_copied():
    days = pa.array([0, 20_000, None], pa.int32()).view(pa.date32())
    (chunk,) = calendar().to_gregorian(pa.table({"d": days})).column("d").chunks
    assert chunk.buffers()[1].address == days.buffers()[1].address


def test_zone_matters_only_to_old_instants():
    unknown = calendar("Middle/Earth")
    recent = pa.table({"t": pa.array([0, None], INSTANT)})
    assert unknown.to_gregorian(recent).equals(recent)
    with pytest.raises(UnsupportedTableError, match=r"f: Spark wrote .* 'Middle/Earth'"):
        unknown.to_gregorian(pa.table({"t": pa.array([OLD], INSTANT)}))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, None),
        ({LEGACY: ""}, None),  # Spark reads such a file as its settings say: as it is, by default
        ({VERSION: "3.5.9"}, None),
        ({VERSION: "3.5.9", LEGACY: "", ZONE: "UTC"}, (True, True)),
        ({VERSION: "3.5.9", LEGACY_INT96: "", ZONE: "UTC"}, (False, False)),
        ({VERSION: "2.4.8", ZONE: "UTC"}, (True, True)),
        ({VERSION: "3.0.3", ZONE: "UTC"}, (False, False)),
    ],
)
def test_keys_of_the_footer_name_the_calendar(tmp_path, metadata, expected):
    found = LegacyCalendar.of(file_of(tmp_path, metadata), "f")
    assert expected == (found and (found.has_dates, found.has_instants))


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({VERSION: "3.5.9", LEGACY: "", ZONE: "UTC"}, (True, False)),
        ({VERSION: "3.5.9", LEGACY_INT96: "", ZONE: "UTC"}, (False, True)),
        ({VERSION: "3.0.3", ZONE: "UTC"}, (False, True)),
    ],
)
def test_instants_of_the_old_type_have_a_key_of_their_own(tmp_path, metadata, expected):
    table = pa.table({"t": pa.array([OLD], pa.timestamp("us"))})
    file = file_of(tmp_path, metadata, table, use_deprecated_int96_timestamps=True)
    found = LegacyCalendar.of(file, "f")
    assert found is not None
    assert (found.has_dates, found.has_instants) == expected
    if file.read().column("t").cast(pa.int64())[0].as_py() != OLD:
        pytest.skip("this pyarrow writes other values as INT96")
    read = file.read().cast(with_instants(file.schema_arrow, file.schema))
    number = found.to_gregorian(read).column("t").combine_chunks().view(pa.int64())[0].as_py()
    assert (number != OLD) is expected[1]


class Leaves:
    """The leaf columns of a file, by their physical types."""

    def __init__(self, *physical_types):
        self.columns = [SimpleNamespace(physical_type=t, path="c.any") for t in physical_types]

    def __len__(self):
        return len(self.columns)

    def column(self, place):
        return self.columns[place]


def test_only_the_leaves_of_the_old_type_are_instants():
    plain, instant = pa.timestamp("us"), pa.timestamp("us", "Etc/UTC")

    def schema(old):
        inner = pa.struct([("local", plain), ("seen", old), ("l", pa.list_(old))])
        return pa.schema([("c", inner), ("m", pa.map_(old, plain)), ("n", pa.int64())])

    leaves = Leaves("INT64", "INT96", "INT96", "INT96", "INT64", "INT64")
    assert with_instants(schema(plain), leaves).equals(schema(instant))


def test_file_without_a_zone_is_read_in_that_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    found = LegacyCalendar.of(file_of(tmp_path, {VERSION: "2.4.8"}), "f")
    assert found is not None
    assert found.zone == "Asia/Kolkata"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Manila", "America/Anchorage"])
def test_widened_bounds_hold_in_both_calendars(zone):
    pairs = REFEREE["instants"][zone]
    before = pa.array([number for number, _ in pairs], INSTANT)
    after = pa.array([number for _, number in pairs], INSTANT)
    lower, higher = widen_bounds(before, before)
    assert pc.all(pc.less_equal(lower, after)).as_py()
    assert pc.all(pc.greater_equal(higher, after)).as_py()


def test_widened_bounds_do_not_overflow():
    ends = [-(2**31), -141_428, -141_427, 2**31 - 1, None]
    days = pa.array(ends, pa.int32()).view(pa.date32())
    low, high = (of.view(pa.int32()).to_pylist() for of in widen_bounds(days, days))
    assert low == [-(2**31), -141_440, -141_427, 2**31 - 1, None]
    assert high == [-141_426, -141_426, -141_427, 2**31 - 1, None]
    instants = pa.array([-(2**63)], INSTANT)
    assert widen_bounds(instants, instants)[0].view(pa.int64())[0].as_py() == -(2**63)


def test_bounds_of_other_types_stay_as_they_are():
    numbers = pa.array([-(2**31), None], pa.int32())
    assert all(of is numbers for of in widen_bounds(numbers, numbers))
