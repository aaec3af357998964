"""A command has an option for each argument of the methods that it calls."""

import json
from collections.abc import Callable
from importlib import import_module
from inspect import signature

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.cli.app import COMMANDS
from hudi_pyspark.inspection import Inspection
from tests.cli.command import in_process

METHODS: dict[str, list[Callable[..., object]]] = {
    "timeline": [Inspection.timeline],
    "commits": [Inspection.commits],
    "commit": [Inspection.commit_files],
    "slices": [Inspection.file_slices],
    "files": [Inspection.files],
    "services": [
        Inspection.compactions,
        Inspection.clustering,
        Inspection.cleans,
        Inspection.rollbacks,
        Inspection.savepoints,
    ],
    "schema": [Inspection.schema_history],
    "partitions": [Inspection.partitions],
    "metadata": [Inspection.metadata_records],
    "column-statistics": [Inspection.column_statistics],
    "properties": [Inspection.properties],
    "count": [HudiTable.scan],
    "lookup": [HudiTable.lookup],
    "history": [HudiTable.history],
    "scan": [HudiTable.scan],
    "diff": [HudiTable.diff],
    "doctor": [HudiTable.doctor],
}
WITHOUT_OPTION = {"count": {"columns", "limit"}}


@pytest.mark.parametrize("command", METHODS)
def test_command_has_the_arguments_of_its_methods(command):
    needed = {name for method in METHODS[command] for name in signature(method).parameters}
    module = import_module(f"hudi_pyspark.cli.{COMMANDS[command]}")
    offered = {parameter.name for parameter in getattr(module, command.replace("-", "_")).params}
    assert needed - {"self"} - WITHOUT_OPTION.get(command, set()) <= offered


def test_lookup_passes_on_what_is_promised(golden_table, monkeypatch):
    given = {}
    lookup = HudiTable.lookup

    def spy(table, keys, columns, **promises):
        given.update(promises)
        return lookup(table, keys, columns, **promises)

    monkeypatch.setattr(HudiTable, "lookup", spy)
    table = str(golden_table("v9_mor_mdt_indexes"))
    promises = ["--unique-keys", "--trust-indexes", "record"]
    ended = in_process("lookup", table, "k0001", *promises, "-o", "json")
    assert ended.code == 0
    assert given == {"as_of": None, "unique_keys": True, "trust_indexes": "record"}
    assert json.loads(ended.out) == json.loads(
        in_process("lookup", table, "k0001", "-o", "json").out
    )
    assert given == {"as_of": None, "unique_keys": False, "trust_indexes": "false"}


def test_index_that_does_not_exist_is_refused_with_those_that_do(golden_table):
    table = str(golden_table("v9_mor_mdt_indexes"))
    ended = in_process("lookup", table, "k0001", "--trust-indexes", "recrd")
    assert ended.code == 2
    assert "record" in ended.err


def test_older_slices_are_listed_if_asked(golden_table):
    table = str(golden_table("v9_mor_compaction_inline"))
    latest = json.loads(in_process("slices", table, "-o", "json").out)
    ended = in_process("slices", table, "--older")
    assert all(row["is_latest"] for row in latest)
    assert "is_latest" in ended.out.splitlines()[0]
    assert len(ended.out.splitlines()) > 1 + len(latest)


def test_archived_services_are_those_of_the_api(golden_table):
    path = golden_table("v9_mor_archived")
    expected = HudiTable(path).inspect.cleans(archived=True).num_rows
    ended = in_process("services", str(path), "cleans", "--archived", "-o", "json")
    assert len(json.loads(ended.out)) == expected > 0
    refused = in_process("services", str(path), "compactions", "--archived")
    assert refused.code == 2
    assert "only cleans and rollbacks" in refused.err
