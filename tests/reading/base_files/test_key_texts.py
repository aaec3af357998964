"""Filters on key fields ask for record keys only if keys are made of the values that rows show."""

import json
import random
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import SchemaEvolutionError
from hudi_pyspark.storage import ArrowStorage
from tests.planning.keyed_tables import FILE_ID, NAME, write_table
from verification.bucket_tables.tables import Keys, Writer

HOURS = [(f"id:{n},day:2024-01-31 1{n}:00:00", {"id": n, "qty": n * 10}) for n in range(3)]


def quantities(path, condition, **options):
    rows = HudiTable(path).scan(["qty"], filter=condition, **options).to_arrow()
    return rows["qty"].to_pylist()


@pytest.mark.parametrize("folder", ["2024-01-31", "day=2024-01-31"])
def test_key_has_the_value_that_the_writer_dropped_not_that_of_the_path(tmp_path, folder):
    path = write_table(
        tmp_path / "t",
        {"id": "long", "qty": "long", "day": "string"},
        {folder: HOURS},
        table__recordkey__fields="id,day",
        table__partition__fields="day:timestamp",
        table__keygenerator__type="CUSTOM",
        datasource__write__drop__partition__columns="true",
    )
    assert quantities(path, "id = 0 AND day = '2024-01-31'") == [0]
    assert quantities(path, "id IN (0, 2) AND day = '2024-01-31'") == [0, 20]


def test_key_has_the_stored_value_where_the_reader_shows_that_of_the_path(tmp_path):
    rows = [(key, {**values, "day": key[9:]}) for key, values in HOURS]
    path = write_table(
        tmp_path / "t",
        {"id": "long", "qty": "long", "day": "string"},
        {"2024-01-31": rows},
        table__recordkey__fields="id,day",
        table__partition__fields="day",
        table__keygenerator__type="TIMESTAMP",
    )
    assert quantities(path, "id = 0 AND day = '2024-01-31 10:00:00'") == [0]
    shown = {"partition_values_from_path": True}
    assert quantities(path, "id = 0 AND day = '2024-01-31'", **shown) == [0]


@pytest.mark.parametrize(
    ("fields", "key", "values", "types"),
    [
        # A bulk insert may make a number of days of a date, which later is a text.
        ("id", "20000", {"id": "2024-10-04"}, {"id": pa.date32()}),
        ("id", "20000", {"id": "2024-10-04"}, {}),
        ("id", "id:20000", {"id": "2024-10-04"}, {}),
        ("id,kind", "id:20000,kind:a", {"id": "2024-10-04", "kind": "a"}, {}),
        # A whole number becomes a double, and then a text.
        ("id", "5", {"id": "5.0"}, {}),
        ("id,kind", "id:5,kind:a", {"id": "5.0", "kind": "a"}, {}),
        # A key has milliseconds of a timestamp, which later is a number of microseconds.
        ("at", "1704067200000", {"at": 1704067200000000}, {}),
        # Apache Flink takes the order of the fields from the primary key of its own definition.
        ("id,kind", "kind:a,id:x", {"id": "x", "kind": "a"}, {}),
    ],
)
def test_key_with_another_text_than_its_field_is_found_by_the_field(
    tmp_path, fields, key, values, types
):
    path = write_table(
        tmp_path / "t",
        {"id": "string", "kind": "string", "at": "long", "qty": "long"},
        {"p": [(key, {**values, "qty": 7})]},
        types,
        table__recordkey__fields=fields,
        table__keygenerator__type="COMPLEX" if "," in fields else "SIMPLE",
    )
    assert quantities(path, [(name, "=", value) for name, value in values.items()]) == [7]


@pytest.mark.parametrize("condition", ["id = 'a'", "id > 'a'"])
def test_key_field_that_a_file_has_twice_is_refused(tmp_path, condition):
    path = write_table(
        tmp_path / "t",
        {"id": "string", "qty": "long"},
        {"p": [("a", {"id": "a", "qty": 7})]},
        table__recordkey__fields="id",
        table__keygenerator__type="SIMPLE",
    )
    file = tmp_path / "t" / "p" / NAME
    rows = pq.read_table(file, partitioning=None)
    pq.write_table(rows.append_column("id", rows.column("id")), file)
    with pytest.raises(SchemaEvolutionError, match="column 'id' may be any of 2 of that name"):
        quantities(path, condition)


class Days(Keys):
    """Keys of dates that are numbers of days."""

    def record_key(self, values):
        days = values["id"]
        return str(days if isinstance(days, int) else days_of(days))


def days_of(text):
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


class OneGroup(Writer):
    """A writer of a single file group."""

    def file_id(self, partition, values):  # noqa: ARG002  (decide nothing)
        return FILE_ID


def writer_of_days(folder, avro_type):
    keys = Days({"id": avro_type}, ["id"], lambda _: {})
    return OneGroup(folder, random.Random(3), keys, is_old=False, counts={"p": 1})


@pytest.mark.parametrize("merge_type", ["payload_combine", "skip_merge"])
def test_log_records_are_merged_where_keys_have_other_texts(tmp_path, merge_type):
    writer = writer_of_days(tmp_path / "t", "string")
    writer.upsert([("p", {"id": "2024-10-04"}), ("p", {"id": "2024-10-05"})], as_base=True)
    writer.upsert([("p", {"id": "2024-10-04"})])
    found = HudiTable(str(tmp_path / "t")).scan(
        ["ts"], filter="id = '2024-10-04'", merge_type=merge_type
    )
    expected = [2] if merge_type == "payload_combine" else [1, 2]
    assert found.to_arrow()["ts"].to_pylist() == expected


@pytest.mark.parametrize("merge_type", ["payload_combine", "skip_merge"])
def test_log_records_whose_keys_were_made_of_dates_are_found_by_text(
    tmp_path, monkeypatch, merge_type
):
    day = {"type": "int", "logicalType": "date"}
    writer = writer_of_days(tmp_path / "t", day)
    monkeypatch.setattr(
        writer.rng, "random", lambda: 1
    )  # no file group begins with a base file by chance
    writer.upsert([("p", {"id": days_of("2024-10-04")}), ("p", {"id": days_of("2024-10-05")})])
    (commit,) = (tmp_path / "t" / ".hoodie").glob("*.deltacommit")
    commit.write_text(commit.read_text().replace(json.dumps(json.dumps(day))[1:-1], r"\"string\""))
    found = HudiTable(str(tmp_path / "t")).scan(
        ["id"], filter="id = '2024-10-04'", merge_type=merge_type
    )
    assert found.to_arrow()["id"].to_pylist() == ["2024-10-04"]


def test_base_file_that_is_asked_about_its_keys_is_opened_once(golden_table, monkeypatch):
    path = golden_table("v9_mor_compaction_inline")
    opened = []
    open_input = ArrowStorage.open_input

    def recorded(self, name):
        opened.append(name)
        return open_input(self, name)

    monkeypatch.setattr(ArrowStorage, "open_input", recorded)
    scan = HudiTable(str(path)).scan(filter="id IN ('k0020', 'k0008')", merge_cache="off")
    tasks: Any = scan.plan()
    opened.clear()
    assert scan.count()
    base_files = [t.file_slice.base_file.path for t in tasks if t.file_slice.log_files]
    assert base_files
    assert sorted(name for name in opened if name in base_files) == sorted(base_files)
