"""Properties that do not fit the table's schema: findings here, named errors of reads."""

import zipfile

import pytest

from hudi_pyspark import HudiError, HudiTable
from hudi_pyspark.doctor.examination import examine_table
from hudi_pyspark.doctor.finding import Severity
from hudi_pyspark.storage import ArrowStorage
from tests.conftest import GOLDEN
from tests.damage import set_property, unpack

TABLE = "v9_mor_clustering"  # ordered by ts, partitioned by region, with log files
ORDERING = "hoodie.table.ordering.fields"
GENERATOR = "hoodie.table.keygenerator.type"
MODE = "hoodie.record.merge.mode"
WARNING = Severity.WARNING
PROBLEM = Severity.PROBLEM


def findings_of(path):
    """Return severity, subject and text of all findings of the check that are not fine."""
    found = examine_table(ArrowStorage.parse(str(path)))
    bad = [
        f for f in found if f.check in ("schema", "properties") and f.severity is not Severity.OK
    ]
    return [(f.severity, f.subject, f"{f.message}. {f.advice}") for f in bad]


@pytest.fixture
def table(tmp_path):
    return unpack(TABLE, tmp_path)


def test_whole_table_has_no_finding(table):
    assert findings_of(table) == []


@pytest.mark.parametrize(
    ("key", "value", "severity", "says"),
    [
        (ORDERING, "nope", PROBLEM, "lacks nope, so log files cannot be merged"),
        (ORDERING, "TS", WARNING, "spells TS as ts"),
        (ORDERING, "ts,ts.nope", PROBLEM, "lacks ts.nope"),
        ("hoodie.table.recordkey.fields", "nope", WARNING, "lacks nope"),
        ("hoodie.table.partition.fields", "nope", WARNING, "lacks nope"),
        ("hoodie.table.partition.fields", "REGION", WARNING, "spells REGION as region"),
        (GENERATOR, "NON_PARTITION", WARNING, "but hoodie.table.partition.fields is region"),
        (GENERATOR, "BANANA", WARNING, "known: SIMPLE, COMPLEX"),
    ],
)
def test_fields_and_key_generator_are_compared_with_the_schema(table, key, value, severity, says):
    set_property(table, key, value)
    ((found, subject, text),) = findings_of(table)
    assert (found, subject) == (severity, key)
    assert says in text
    assert "hoodie.properties" in text


def test_several_record_keys_do_not_fit_the_simple_generator(table):
    set_property(table, "hoodie.table.recordkey.fields", "id,ts")
    ((severity, subject, text),) = findings_of(table)
    assert (severity, subject) == (WARNING, GENERATOR)
    assert "takes one record key field" in text


def test_ordering_field_of_a_nested_column_is_found(tmp_path):
    table = unpack("v9_mor_all_types", tmp_path)
    schema = HudiTable(table).schema
    struct = next(f for f in schema if str(f.type).startswith("struct"))
    set_property(table, ORDERING, f"{struct.name}.{struct.type.field(0).name}")
    assert findings_of(table) == []


@pytest.mark.parametrize(
    ("key", "value", "severity"),
    [
        (MODE, "NONSENSE", PROBLEM),
        ("hoodie.table.partial.update.mode", "NONSENSE", WARNING),
        ("hoodie.table.type", "NONSENSE", PROBLEM),
        ("hoodie.table.base.file.format", "CSV", PROBLEM),
        ("hoodie.table.version", "-9", PROBLEM),
        ("hoodie.timeline.layout.version", "1", PROBLEM),
        ("hoodie.timeline.layout.version", "x", PROBLEM),
        ("hoodie.populate.meta.fields", "maybe", PROBLEM),
        (ORDERING, "nope", PROBLEM),
    ],
)
def test_what_a_read_refuses_is_a_finding_and_both_name_the_property(table, key, value, severity):
    set_property(table, key, value)
    ((found, _, text),) = findings_of(table)
    with pytest.raises(HudiError) as raised:
        HudiTable(table).scan().to_arrow()
    assert found is severity
    for said in (text, f"{raised.value} {key}" if key == ORDERING else str(raised.value)):
        assert value in said
        assert key in said or key == ORDERING


def test_missing_ordering_field_is_refused_with_advice(table):
    set_property(table, ORDERING, "nope")
    with pytest.raises(HudiError, match=r"Set the property in \.hoodie/hoodie\.properties"):
        HudiTable(table).scan().to_arrow()
    assert HudiTable(table).scan(query_type="read_optimized").count() > 0


def test_merger_in_java_is_a_warning_where_log_files_may_need_it(table):
    set_property(table, MODE, "CUSTOM")
    set_property(table, "hoodie.compaction.payload.class", "com.acme.Payload")
    set_property(table, "hoodie.record.merge.strategy.id", "00000000-0000-0000-0000-000000000000")
    ((severity, _, text),) = findings_of(table)
    assert severity is WARNING
    assert "register_payload" in text
    set_property(table, "hoodie.table.type", "COPY_ON_WRITE")
    assert findings_of(table) == []


def test_column_without_nulls_that_files_lack_is_a_warning(tmp_path):
    cases = GOLDEN.with_name("golden_extra")
    for name in ("x_v9_mor_evo_not_null_added", "x_v9_mor_evo_nullable_added"):
        with zipfile.ZipFile(cases / name / "table.zip") as file:
            file.extractall(tmp_path)
    ((severity, subject, text),) = findings_of(tmp_path / "x_v9_mor_evo_not_null_added")
    assert (severity, subject) == (WARNING, "tip")
    assert "2 files from before it was added lack it" in text
    assert findings_of(tmp_path / "x_v9_mor_evo_nullable_added") == []


def test_nested_field_without_nulls_that_files_lack_is_a_warning(tmp_path):
    # Apache Hudi 1.2.0 wrote it and fails to read it, or shows 0.
    name = "x_v9_mor_evo_not_null_nested"
    folder = GOLDEN.parent / "practice" / "not_null_nested" / name
    with zipfile.ZipFile(folder / "table.zip") as file:
        file.extractall(tmp_path)
    found = findings_of(tmp_path / name)
    assert [(severity, subject) for severity, subject, _ in found] == [
        (WARNING, "s.tip"),
        (WARNING, "l.tip"),
        (WARNING, "m.tip"),
    ]
    assert all("2 files from before it was added lack it" in text for _, _, text in found)
