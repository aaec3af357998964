"""Rows by record key on the command line."""

import json

import pytest

from hudi_pyspark import unpack_demo
from tests.cli.command import in_process


@pytest.fixture
def orders(tmp_path):
    unpack_demo(tmp_path)
    return tmp_path / "orders_cdc"


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


def test_history_is_of_a_record_or_of_a_file_group(orders):
    ended = in_process("history", str(orders), "f7ca8013", "--file-group", "-o", "json")
    assert all("f7ca8013" in row["path"] for row in json.loads(ended.out))
    found = json.loads(in_process("history", str(orders), "nobody", "-o", "json").out)
    assert found == []


def test_states_that_are_gone_are_named_in_the_history(golden_table):
    ended = in_process("history", str(golden_table("v9_mor_archived")), "k0001")
    assert (ended.code, ended.err) == (0, "")
    assert "  present  " in ended.out.splitlines()[1]
    assert "the earliest commit that the cleaner kept" in ended.out.splitlines()[1]


@pytest.mark.parametrize("word", ["compaction", "clusterings", "clean", "rollbacks", "savepoint"])
def test_services_have_singular_and_plural(orders, word):
    ended = in_process("services", str(orders), word, "-o", "json")
    assert (ended.code, ended.out[0]) == (0, "[")


def test_unknown_service_is_refused_with_those_that_there_are(orders):
    ended = in_process("services", str(orders), "vacuum")
    assert ended.code == 2
    assert "'vacuum' is not one of compactions" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["services", "savepoints"],
        ["lookup", "nobody"],
        ["history", "nobody"],
        ["metadata"],
        ["column-statistics", "--limit", "0"],
        ["files", "--limit", "0"],
        ["scan", "--limit", "0"],
        ["diff", "20261121063214022", "20261121063214022"],
    ],
    ids=" ".join,
)
def test_no_rows_are_an_empty_array(orders, arguments):
    command, *others = arguments
    assert in_process(command, str(orders), *others, "-o", "json").out == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lookup", "{table}", "nobody", "no one"], "no row has the record key nobody or no one"),
        (["history", "{table}", "nobody"], "no commit that can be read has the record key nobody"),
    ],
)
def test_key_that_does_not_exist_is_named_on_standard_error(orders, arguments, says):
    ended = in_process(*(text.format(table=orders) for text in arguments), "-o", "json")
    assert (ended.code, json.loads(ended.out)) == (0, [])
    assert says in ended.err
