import io
import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.format.nested_types import counts_milliseconds
from hudi_pyspark.table.schema import resolve_schema
from tests.format.log.log_writer import write_block
from tests.table.tiny_table import TinyTable, base, log

META = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
]
OPERATION = "_hoodie_operation"
F010, F020 = base("f", "010"), base("f", "020")
LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])


def avro(*names, **types):
    """Avro JSON of nullable strings, and of fields of the types given."""
    fields = [{"name": n, "type": ["null", "string"], "default": None} for n in names]
    fields += [{"name": n, "type": t} for n, t in types.items()]
    return json.dumps({"type": "record", "name": "tiny", "fields": fields})


def written(version, *schemas, **properties):
    """One commit per schema, at 010, 020 and so on."""
    table = TinyTable(version, **properties)
    for number, schema in enumerate(schemas, start=1):
        extra = {} if schema is None else {"schema": schema}
        table.write(f"0{number}0", "commit", extra=extra)
    return table


def parquet(*names, metadata=None):
    schema = pa.schema([pa.field(name, pa.string()) for name in names], metadata=metadata)
    body = io.BytesIO()
    pq.write_table(schema.empty_table(), body)
    return body.getvalue()


def names(table, as_of=None):
    return resolve_schema(table.open(), as_of).names


@LAYOUTS
def test_delta_commits_say_the_schema_of_a_table_whose_type_was_changed(version):
    """Apache Hudi asks all commits for the schema, and those of the type for rows."""
    table = TinyTable(version, "COPY_ON_WRITE")
    table.write("010", "deltacommit", extra={"schema": avro("id", qty="int")})
    assert names(table) == [*META, "id", "qty"]
    table.write("020", "commit", extra={"schema": avro("id", "qty")})
    types = [
        resolve_schema(table.open(), time).field("qty").type for time in ("010", "015", "020", None)
    ]
    assert types == [pa.int32(), pa.int32(), pa.string(), pa.string()]


@LAYOUTS
def test_meta_columns_come_first_and_are_nullable_strings(version):
    schema = resolve_schema(written(version, avro("id", "name")).open())
    assert schema.names == [*META, "id", "name"]
    assert {(f.type, f.nullable) for f in schema if f.name in META} == {(pa.string(), True)}


@LAYOUTS
def test_columns_have_the_types_of_the_commit_in_its_order(version):
    schema = resolve_schema(written(version, avro(ts="long", id="int", ok="boolean")).open())
    found = [(f.name, f.type) for f in schema][len(META) :]
    assert found == [("ts", pa.int64()), ("id", pa.int32()), ("ok", pa.bool_())]


def test_timestamps_are_microseconds_and_remember_milliseconds_wherever_they_are():
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    local = ["null", {"type": "long", "logicalType": "local-timestamp-millis"}]
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    inner = {"type": "record", "name": "inner", "fields": [{"name": "a", "type": millis}]}
    columns = {
        "plain": millis,
        "other": micros,
        "list": {"type": "array", "items": local},
        "map": {"type": "map", "values": inner},
    }
    schema = resolve_schema(written(6, avro(**columns)).open())
    # Tasks carry the schema to executors.
    for found in (schema, pickle.loads(pickle.dumps(schema))):
        plain, other, listed, mapped = (found.field(name) for name in columns)
        utc = pa.timestamp("us", "UTC")
        assert (plain.type, counts_milliseconds(plain)) == (utc, True)
        assert (other.type, counts_milliseconds(other)) == (utc, False)
        item = listed.type.value_field
        assert (item.type, counts_milliseconds(item)) == (pa.timestamp("us"), True)
        part = mapped.type.item_field.type.field("a")
        assert (part.type, counts_milliseconds(part)) == (utc, True)


def test_meta_columns_of_the_commit_schema_are_not_repeated():
    assert names(written(9, avro("id", META[2], META[0]))) == [*META, "id"]


@LAYOUTS
@pytest.mark.parametrize("schema", [avro("id"), avro(*META, "id"), avro(OPERATION, "id")])
def test_table_without_meta_fields_has_only_its_own_columns(version, schema):
    assert names(written(version, schema, populate__meta__fields="false")) == ["id"]


# Which commit's schema


@LAYOUTS
def test_newest_schema_counts(version):
    assert names(written(version, avro("a"), avro("a", "b"))) == [*META, "a", "b"]


@LAYOUTS
@pytest.mark.parametrize("without", [None, ""], ids=["absent", "empty"])
def test_commit_without_schema_is_skipped(version, without):
    assert names(written(version, avro("a"), without)) == [*META, "a"]


@LAYOUTS
def test_incomplete_commit_does_not_count(version):
    table = written(version, avro("a"))
    table.instant("020.inflight", {"extraMetadata": {"schema": avro("b")}})
    assert names(table) == [*META, "a"]


@LAYOUTS
@pytest.mark.parametrize(
    ("as_of", "columns"),
    [
        ("010", ["a"]),
        ("019", ["a"]),
        ("020", ["a", "b"]),
        ("025", ["a", "b"]),
        ("999", ["a", "b", "c"]),
        pytest.param("005", ["a", "b", "c"], id="before-the-first-commit-the-latest"),
    ],
)
def test_time_travel_has_the_schema_of_its_time(version, as_of, columns):
    table = written(version, avro("a"), avro("a", "b"), avro("a", "b", "c"))
    assert names(table, as_of) == [*META, *columns]


@LAYOUTS
def test_time_travel_skips_a_commit_without_schema(version):
    assert names(written(version, avro("a"), None, avro("b")), "020") == [*META, "a"]


# Without a commit that says it


CREATE = {"table__create__schema": avro("created")}


@LAYOUTS
@pytest.mark.parametrize("schemas", [[], [None]], ids=["no-commit", "commit-without-schema"])
def test_create_schema_stands_in(version, schemas):
    assert names(written(version, *schemas, **CREATE)) == [*META, "created"]


@LAYOUTS
def test_commit_schema_wins_over_the_create_schema(version):
    assert names(written(version, avro("a"), **CREATE)) == [*META, "a"]


def test_create_schema_is_unescaped_as_a_java_property():
    escaped = avro("created").replace(":", "\\:")
    assert names(written(9, table__create__schema=escaped)) == [*META, "created"]


@LAYOUTS
def test_data_file_stands_in_for_a_missing_schema(version):
    table = TinyTable(version).write("010", "commit", F010).write("020", "commit", F020)
    table.data(F010, content=parquet("old")).data(F020, content=parquet(*META, "id"))
    assert names(table) == [*META, "id"]


def test_avro_schema_in_a_base_file_tells_more_than_its_columns():
    told = {"parquet.avro.schema": avro(ts={"type": "int", "logicalType": "date"})}
    table = TinyTable(9).write("010", "commit", F010)
    table.data(F010, content=parquet("ts", metadata=told))
    assert resolve_schema(table.open()).field("ts").type == pa.date32()


def test_log_file_stands_in_for_a_missing_schema():
    blocks = [
        write_block(LogBlockType.AVRO_DATA_BLOCK, {HeaderKey.SCHEMA: avro(*columns)}, b"")
        for columns in (["a"], [*META, "a", "b"])
    ]
    table = TinyTable(9).write("010", "deltacommit", log("f", "010"))
    table.data(log("f", "010"), content=b"".join(blocks))
    assert names(table) == [*META, "a", "b"]


def test_older_data_file_stands_in_where_the_newest_is_gone_or_damaged():
    table = TinyTable(9).write("010", "commit", F010).write("020", "commit", F020)
    table.write("030", "commit", base("f", "030")).without(base("f", "030"))
    table.data(F010, content=parquet("id")).data(F020, content=b"PAR1 damaged")
    assert names(table) == [*META, "id"]


@LAYOUTS
@pytest.mark.parametrize("schemas", [[], [None], [""]], ids=["no-commit", "no-schema", "empty"])
def test_table_that_has_no_schema_yet_is_refused(version, schemas):
    with pytest.raises(UnsupportedTableError, match="has no schema yet"):
        resolve_schema(written(version, *schemas).open())


# The operation column


def test_operation_column_of_the_commit_schema_follows_the_meta_columns():
    assert names(written(9, avro("id", OPERATION))) == [*META, OPERATION, "id"]


@LAYOUTS
def test_operation_column_that_only_a_data_file_has_is_found(version):
    extra = {"schema": avro("id")}
    table = TinyTable(version).write("010", "commit", F010, extra=extra)
    assert names(table.data(F010, content=parquet(*META, "id"))) == [*META, "id"]
    table.data(F010, content=parquet(*META, OPERATION, "id"))
    assert names(table) == [*META, OPERATION, "id"]


def test_operation_column_that_only_a_log_file_has_is_found():
    header: dict[HeaderKey | int, str] = {HeaderKey.SCHEMA: avro(*META, OPERATION, "id")}
    table = TinyTable(9).write("010", "deltacommit", log("f", "010"), extra={"schema": avro("id")})
    table.data(log("f", "010"), content=write_block(LogBlockType.AVRO_DATA_BLOCK, header, b""))
    assert names(table) == [*META, OPERATION, "id"]


# Dropped partition columns


DROPPED = {
    "table__partition__fields": "p,q",
    "datasource__write__drop__partition__columns": "true",
}


@LAYOUTS
def test_dropped_partition_columns_are_appended_as_nullable_strings(version):
    schema = resolve_schema(written(version, avro("id"), **DROPPED).open())
    assert schema.names == [*META, "id", "p", "q"]
    assert {(f.type, f.nullable) for f in list(schema)[-2:]} == {(pa.string(), True)}


def test_partition_columns_that_the_schema_has_keep_their_place_and_type():
    schema = resolve_schema(written(9, avro("q", p="int", id="long"), **DROPPED).open())
    assert schema.names == [*META, "q", "p", "id"]
    assert schema.field("p").type == pa.int32()


def test_schema_that_lacks_only_some_dropped_partition_columns_is_corrupt():
    with pytest.raises(CorruptTableError, match="lacks only some partition columns: q"):
        resolve_schema(written(9, avro("id", "p"), **DROPPED).open())


def test_nested_partition_field_is_not_a_dropped_column():
    nested = {"type": "record", "name": "r", "fields": [{"name": "P", "type": "string"}]}
    properties = {**DROPPED, "table__partition__fields": "s.p"}
    assert names(written(9, avro("id", s=nested), **properties)) == [*META, "id", "s"]
    properties["table__partition__fields"] = "s.p,q"
    assert names(written(9, avro("id", s=nested), **properties)) == [*META, "id", "s", "q"]


def test_partition_columns_are_not_appended_where_they_were_not_dropped():
    assert names(written(9, avro("id"), table__partition__fields="p")) == [*META, "id"]
