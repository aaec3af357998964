"""What Apache Hudi refuses and this package reads: a note names it.

Each shape was read with Apache Hudi 1.2.0 on Spark 3.5; the last column is from its error.
0.15.0 fails on the same words in tables of version 6, but not on a missing layout.
"""

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.doctor.examination import examine_table
from hudi_pyspark.doctor.finding import Severity
from hudi_pyspark.errors import CorruptTableError, UnsupportedTableError
from hudi_pyspark.storage import ArrowStorage
from tests.damage import set_property, unpack

V6, V8, V9 = "v6_mor_part_basic", "v8_mor_cdc_data_before", "v9_mor_clustering"
ROWS = {V6: 47, V8: 9, V9: 23}  # of Apache Hudi's snapshots
LATER = "20991231235959999"
MODE = "hoodie.record.merge.mode"
PROPERTIES = [
    ("hoodie.table.type", "merge_on_read", V6, "No enum constant HoodieTableType.merge_on_read"),
    ("hoodie.table.type", "merge_on_read", V9, "No enum constant HoodieTableType.merge_on_read"),
    ("hoodie.table.base.file.format", "parquet", V6, "No enum constant HoodieFileFormat.parquet"),
    ("hoodie.table.log.file.format", "hoodie_log", V6, "No enum constant HoodieFileFormat"),
    ("hoodie.table.log.file.format", "BANANA", V9, "No enum constant HoodieFileFormat.BANANA"),
    ("hoodie.table.keygenerator.type", "simple", V9, "No enum constant KeyGeneratorType.simple"),
    ("hoodie.table.partial.update.mode", "ignore_defaults", V9, "No enum constant"),
    ("hoodie.bootstrap.index.type", "BANANA", V8, "No enum constant BootstrapIndexType.BANANA"),
    ("hoodie.timeline.layout.version", None, V6, "TableNotFoundException"),
    ("hoodie.timeline.layout.version", None, V9, "TableNotFoundException"),
    (MODE, None, V8, "NullPointerException"),
    (MODE, None, V9, "NullPointerException"),
]
PLANS = [
    ("logcompaction", b"", "it is empty", "EOFException"),
    ("replacecommit", b"banana", "bana", "InvalidAvroMagicException"),
    ("clustering", b"banana", "bana", "InvalidAvroMagicException"),
]


def noted(table):
    """Return subject and message of the findings that a whole table has not."""
    found = examine_table(ArrowStorage.parse(str(table)))
    return [
        (f.severity, f.subject, f.message) for f in found if "Apache Hudi refuses the" in f.message
    ]


@pytest.mark.parametrize("case", ROWS)
def test_whole_table_is_not_refused(tmp_path, case):
    assert noted(unpack(case, tmp_path)) == []


@pytest.mark.parametrize(("key", "value", "case", "error"), PROPERTIES)
def test_property_that_apache_hudi_refuses(tmp_path, key, value, case, error):
    table = unpack(case, tmp_path)
    set_property(table, key, value)
    ((severity, subject, _),) = noted(table)
    assert (severity, subject) == (Severity.NOTE, key), error
    assert HudiTable(table).scan().to_arrow().num_rows == ROWS[case]


@pytest.mark.parametrize("short", ["MOR", "cow"])
def test_short_name_of_a_table_type_is_refused_here_too(tmp_path, short):
    """Users wrote it to properties, on which Apache Hudi failed (apache/hudi #10703)."""
    table = unpack(V9, tmp_path)
    set_property(table, "hoodie.table.type", short)
    problem = f"hoodie.table.type is '{short}'; known: COPY_ON_WRITE, MERGE_ON_READ"
    with pytest.raises(UnsupportedTableError, match=problem):
        HudiTable(table)
    findings = list(examine_table(ArrowStorage.parse(str(table))))
    assert [problem in f.message for f in findings if f.severity is Severity.PROBLEM] == [True]


@pytest.mark.parametrize("checksum", [None, "1"])
def test_missing_name_is_refused_with_and_without_a_checksum(tmp_path, checksum):
    """Apache Hudi refuses it as well."""
    table = unpack(V9, tmp_path)
    set_property(table, "hoodie.table.checksum", checksum)
    set_property(table, "hoodie.table.name", None)
    with pytest.raises(CorruptTableError, match=r"hoodie\.table\.name is missing"):
        HudiTable(table)


@pytest.mark.parametrize(("action", "plan", "says", "error"), PLANS)
def test_plan_that_cannot_be_decoded(tmp_path, action, plan, says, error):
    table = unpack(V9, tmp_path)
    (table / ".hoodie" / "timeline" / f"{LATER}.{action}.requested").write_bytes(plan)
    ((severity, subject, message),) = noted(table)
    assert (severity, subject) == (Severity.NOTE, LATER), error
    assert says in message
    assert HudiTable(table).scan().to_arrow().num_rows == ROWS[V9]
