"""Filters on key fields ask for record keys only if keys are made of the values that rows show."""

import pytest

from hudi_pyspark import HudiTable
from tests.planning.keyed_tables import write_table

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
