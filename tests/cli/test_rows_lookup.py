"""Rows by record key on the command line."""

import json
import shutil

import pytest

from tests.cli.command import in_process
from tests.conftest import PROJECT


@pytest.fixture
def orders(tmp_path):
    shutil.unpack_archive(PROJECT / "hudi_pyspark" / "cli" / "orders.zip", tmp_path)
    return tmp_path / "orders"


def test_rows_of_keys_are_printed_without_meta_columns(orders):
    ended = in_process("lookup", str(orders), "k1", "k2", "nobody", "--output", "json")
    found = json.loads(ended.out)
    assert ended.code == 0
    assert sorted(row["id"] for row in found) == ["k1", "k2"]
    assert not any(name.startswith("_hoodie_") for name in found[0])


def test_columns_are_those_that_are_named(orders):
    ended = in_process("lookup", str(orders), "k1", "--columns", "amount, id", "--output", "json")
    assert [list(row) for row in json.loads(ended.out)] == [["amount", "id"]]


def test_unknown_column_is_refused(orders):
    ended = in_process("lookup", str(orders), "k1", "--columns", "amout")
    assert ended.code != 0
    assert "amount" in ended.err
