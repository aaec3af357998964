"""Versions of the internal schema, on tables of a few bytes."""

import json

import pytest

from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.table.schema import internal_schema_versions, latest_internal_schema
from tests.table.tiny_table import TinyTable


def schema(version, *names):
    fields = [{"id": n, "name": name, "type": "int"} for n, name in enumerate(names)]
    return {"version_id": version, "type": "record", "fields": fields}


def written(table, time, *names, version=None):
    """A commit that changed the columns."""
    changed = json.dumps(schema(version or int(time), *names))
    return table.write(time, "commit", f"f_0_{time}.parquet", extra={"latest_schema": changed})


def history(table, name, *schemas):
    """A file of `.hoodie/.schema`."""
    content = json.dumps({"schemas": list(schemas)}).encode()
    table.files[f".hoodie/.schema/{name}"] = content
    return table


def found(table):
    """Version id to the names of the columns."""
    versions = internal_schema_versions(table.open())
    return {v.version_id: [f.name for f in v.root.fields] for v in versions}


def latest(table, as_of=None):
    schema = latest_internal_schema(table.open(), as_of)
    return schema and [field.name for field in schema.root.fields]


@pytest.fixture(params=[6, 9])
def table(request):
    return TinyTable(request.param, "COPY_ON_WRITE")


def test_table_whose_columns_never_changed_has_none(table):
    table.write("010", "commit", "f_0_010.parquet")
    assert latest(table) is None
    assert found(table) == {}


def operation(table, time, operation_type):
    """A commit of an operation, without any word of columns."""
    table.write(time, "commit", f"f_0_{time}.parquet")
    name = next(n for n in table.files if f"/{time}" in n and n.endswith(".commit"))
    body = json.loads(table.files[name])
    table.files[name] = json.dumps({**body, "operationType": operation_type}).encode()


def test_latest_is_that_of_the_last_commit(table):
    written(table, "010", "a")
    written(table, "020", "b")
    assert latest(table) == ["b"]


@pytest.mark.parametrize("operation_type", ["CLUSTER", "COMPACT", "LOG_COMPACT", "INDEX"])
def test_table_services_keep_the_columns(table, operation_type):
    written(table, "010", "a")
    operation(table, "020", operation_type)
    assert latest(table) == ["a"]


def test_write_without_internal_schema_keeps_the_columns_of_the_history(table):
    written(table, "010", "a")
    history(table, "010.schemacommit", schema(10, "a"))
    operation(table, "020", "UPSERT")
    assert latest(table) == ["a"]


def test_write_without_internal_schema_speaks_for_a_table_without_history(table):
    written(table, "010", "a")
    operation(table, "020", "UPSERT")
    assert latest(table) is None


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [("009", None), ("010", ["a"]), ("019", ["a"]), ("020", ["b"]), ("999", ["b"])],
)
def test_latest_as_of_an_instant(table, as_of, expected):
    written(table, "010", "a")
    written(table, "020", "b")
    assert latest(table, as_of) == expected


def test_delta_commits_count_in_a_table_whose_type_was_changed(table):
    changed = json.dumps(schema(10, "a"))
    table.write("010", "deltacommit", extra={"latest_schema": changed})
    assert latest(table) == ["a"]
    written(table, "020", "b")
    assert (latest(table, "010"), latest(table)) == (["a"], ["b"])
    assert found(table) == {10: ["a"], 20: ["b"]}


def test_versions_of_commits_are_sorted_and_one_per_id(table):
    written(table, "010", "a")
    written(table, "020", "b")
    written(table, "030", "b", version=20)
    assert found(table) == {10: ["a"], 20: ["b"]}


def test_history_file_knows_versions_that_left_the_timeline(table):
    written(table, "020", "b")
    history(table, "020.schemacommit", schema(0, "z"), schema(20, "b"))
    assert found(table) == {0: ["z"], 20: ["b"]}


def test_newest_history_file_counts(table):
    written(table, "010", "a")
    written(table, "020", "b")
    history(table, "010.schemacommit", schema(0, "old"))
    history(table, "020.schemacommit", schema(0, "new"))
    assert found(table)[0] == ["new"]


def test_history_file_of_version_8_tells_its_completion_too():
    table = written(TinyTable(9), "020", "b")
    history(table, "020_025.schemacommit", schema(0, "z"), schema(20, "b"))
    assert found(table) == {0: ["z"], 20: ["b"]}


def test_history_file_of_an_incomplete_commit_is_ignored(table):
    written(table, "010", "a")
    history(table, "010.schemacommit", schema(0, "z"), schema(10, "a"))
    table.instant("020.commit.requested").instant("020.inflight")
    history(table, "020.schemacommit", schema(0, "wrong"), schema(20, "wrong"))
    assert found(table) == {0: ["z"], 10: ["a"]}


@pytest.mark.parametrize(
    "name", ["020.schemacommit.requested", "020.schemacommit.inflight", "020.schemacommit.crc"]
)
def test_other_files_of_the_history_folder_are_ignored(table, name):
    written(table, "020", "b")
    table.files[f".hoodie/.schema/{name}"] = b"no json"
    assert found(table) == {20: ["b"]}


def test_damaged_history_file_is_named(table):
    written(table, "020", "b")
    table.files[".hoodie/.schema/020.schemacommit"] = b"{"
    with pytest.raises(
        CorruptTimelineError, match=r"\.hoodie/\.schema/020\.schemacommit: not an int"
    ):
        found(table)


def test_damaged_schema_of_a_commit_is_named(table):
    table.write("010", "commit", "f_0_010.parquet", extra={"latest_schema": "{}"})
    with pytest.raises(CorruptTimelineError, match=r"010.*\.commit: not an internal schema"):
        latest(table)
