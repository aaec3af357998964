"""Checks of the properties that name columns, and of the columns, against the files."""

from collections.abc import Iterator

import pyarrow as pa

from hudi_pyspark.doctor.finding import Finding, Severity, restore_properties
from hudi_pyspark.errors import CorruptTableError, UnsupportedMergeError
from hudi_pyspark.format.avro.schema import (
    AvroField,
    AvroRecord,
    AvroType,
    is_nullable,
    parse_schema,
    parts_of,
)
from hudi_pyspark.format.column_names import find_path
from hudi_pyspark.inspection.commits import known_schema
from hudi_pyspark.table.config import KEY_GENERATORS, PROPERTIES_FILE
from hudi_pyspark.table.merge_mode import check_supported, resolve_merge_rule
from hudi_pyspark.table.view import TableView
from hudi_pyspark.wording import counted

SCHEMA = "schema"
_ORDERING = ("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
_RECORD_KEY = "hoodie.table.recordkey.fields"
_PARTITION = "hoodie.table.partition.fields"
_INNER_GENERATORS = (
    "AUTO_RECORD",
    "HOODIE_TABLE_METADATA",
    "SPARK_SQL",
    "SPARK_SQL_UUID",
    "SPARK_SQL_MERGE_INTO",
    "USER_PROVIDED",
)


def check_schema(view: TableView) -> Iterator[Finding]:
    """Compare merge rule, key generator, and the fields that they name, with the table's schema."""
    schema = known_schema(view)
    if not schema.names:
        return  # nothing was committed yet
    findings = [
        *_merging(view, schema),
        *_fields(view, schema),
        *_key_generator(view),
        *_columns_without_nulls(view),
    ]
    yield from findings
    if not findings:
        message = f"{counted(len(schema), 'column')}; key, partition and ordering fields are there"
        yield Finding(Severity.OK, SCHEMA, "", message)


def _merging(view: TableView, schema: pa.Schema) -> Iterator[Finding]:
    """Check the merge rule and its ordering fields."""
    config = view.config
    restore = restore_properties(view.storage)
    key = next((key for key in _ORDERING if config.properties.get(key)), _ORDERING[0])
    try:
        rule = resolve_merge_rule(config, "", "")
        if config.is_merge_on_read:
            check_supported(rule)
    except CorruptTableError as error:
        yield Finding(Severity.PROBLEM, SCHEMA, PROPERTIES_FILE, error.reason(), restore)
        return
    except UnsupportedMergeError as error:
        yield Finding(Severity.WARNING, SCHEMA, PROPERTIES_FILE, error.reason())
        return
    advice = (
        f"{restore}. Without a copy set {key} to the column by which records are "
        "ordered: another one, or none, changes which rows win"
    )
    severity = Severity.PROBLEM if config.is_merge_on_read else Severity.WARNING
    for name in rule.ordering_fields:
        message = f"the table's schema lacks {name}, so log files cannot be merged"
        yield from _field(schema, name, Finding(severity, SCHEMA, key, message, advice))


def _fields(view: TableView, schema: pa.Schema) -> Iterator[Finding]:
    """Check the fields of record keys and of partition paths."""
    config = view.config
    restore = restore_properties(view.storage)
    key_severity = Severity.WARNING if config.populate_meta_fields else Severity.PROBLEM
    for key, names, severity in (
        (_RECORD_KEY, config.record_key_fields, key_severity),
        (_PARTITION, config.partition_fields, Severity.WARNING),
    ):
        advice = f"{restore}. Without a copy set {key} to the columns that writers use"
        for name in names:
            message = f"the table's schema lacks {name}, which Apache Hudi's writers need"
            yield from _field(schema, name, Finding(severity, SCHEMA, key, message, advice))


def _field(schema: pa.Schema, name: str, missing: Finding) -> Iterator[Finding]:
    """Yield what is wrong with the name of a field: it is missing, or has another case."""
    key = missing.subject
    try:
        spelling = ".".join(find_path(name, schema))
    except CorruptTableError:  # several columns differ from the name in case alone
        spelling = ""
    if not spelling:
        yield missing
    elif spelling != name and key != _RECORD_KEY:
        message = f"the table's schema spells {name} as {spelling}: queries of Apache Hudi may fail"
        advice = f"Set {key} in {PROPERTIES_FILE} to {spelling} while nobody writes"
        yield Finding(Severity.WARNING, SCHEMA, key, message, advice)


def _key_generator(view: TableView) -> Iterator[Finding]:
    """Check that the key generator fits the fields that it gets."""
    config = view.config
    generator = config.key_generator
    keys = len(config.record_key_fields)
    partitions = len(config.partition_fields)
    problem = ""
    if generator and generator not in (*KEY_GENERATORS.values(), *_INNER_GENERATORS):
        problem = f"known: {', '.join(KEY_GENERATORS.values())}"
    elif generator == "NON_PARTITION" and partitions:
        problem = f"but {_PARTITION} is {config.properties[_PARTITION]}"
    elif generator == "SIMPLE" and (keys > 1 or partitions > 1):
        problem = "which takes one record key field and one partition field"
    if problem:
        message = f"the key generator is {generator}, {problem}: Apache Hudi's writers may fail"
        key = "hoodie.table.keygenerator.type"
        yield Finding(Severity.WARNING, SCHEMA, key, message, restore_properties(view.storage))


def _columns_without_nulls(view: TableView) -> Iterator[Finding]:
    """Report required columns and nested fields that files of the latest slices lack."""
    texts = {
        time: metadata.schema_text
        for time, metadata in view.history.metadata_of().items()
        if metadata.schema_text
    }
    if not texts:
        return
    fields = {text: dict(_fields_of(parse_schema(text))) for text in set(texts.values())}
    required = [
        path
        for path, field in fields[texts[max(texts)]].items()
        if not is_nullable(field.type) and field.default is None
    ]
    stored_paths = {time: {path.lower() for path in fields[text]} for time, text in texts.items()}
    slices = view.slices.as_of(check_files=False) if required else []
    files = [file for s in slices for file in s.files]
    for path in required:
        record, _, _ = path.lower().rpartition(".")
        lacking = [
            file.path
            for file in files
            if (names := stored_paths.get(file.instant_time)) is not None
            and path.lower() not in names
            and (not record or record in names)
        ]
        if lacking:
            message = (
                f"declared without nulls, but {counted(len(lacking), 'file')} from before it was "
                f"added lack it, {min(lacking)} first. Here their rows have null; Apache Hudi "
                "cannot read them, or shows 0"
            )
            advice = "Write once with a column that may be null"
            yield Finding(Severity.WARNING, SCHEMA, path, message, advice)


def _fields_of(avro: AvroType, path: str = "") -> Iterator[tuple[str, AvroField]]:
    """Yield the fields of a record and the fields nested in them, with their dotted paths."""
    if not isinstance(avro, AvroRecord):
        for part in parts_of(avro):
            yield from _fields_of(part, path)
        return
    for field in avro.fields:
        name = f"{path}.{field.name}" if path else field.name
        yield name, field
        yield from _fields_of(field.type, name)
