"""A hoodie.properties that was cut or edited, with and without its backup.

Apache Hudi 1.2.0 was asked for each cut at a line. Where it answers, or where it should from the
whole backup, the rows are those of the whole file. It fails where the name is cut off and there is
no backup, and where it compares the ordering value of a delete with that of a row without one.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from hudi_pyspark import CorruptTableError, HudiError, HudiTable
from hudi_pyspark.doctor.examination import examine_table
from hudi_pyspark.doctor.finding import Severity
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.config import BACKUP_FILE, PROPERTIES_FILE
from tests.damage import set_property

ROWS = [("k0", 0), ("k2", 2), ("k3", 103)]
CHECKSUM_LINE, NAME_LINE, ORDERING_LINE, LINES = 7, 24, 27, 30


@pytest.fixture
def table(practice_table):
    return practice_table("cut_properties/h_cut16_backup")


def rows(table):
    names = HudiTable(table).scan().schema.names
    value = names[-2]
    found = HudiTable(table).scan(columns=["id", value]).to_arrow().to_pylist()
    return sorted((row["id"], row[value]) for row in found)


def cut(table, lines):
    """Cut the properties after so many lines of the whole file."""
    whole = (table / BACKUP_FILE).read_text().splitlines(keepends=True)
    assert len(whole) == LINES
    (table / PROPERTIES_FILE).write_text("".join(whole[:lines]))


def problems(table):
    """What the doctor calls wrong in the properties."""
    findings = examine_table(ArrowStorage.parse(str(table)))
    return [
        f.message for f in findings if (f.check, f.severity) == ("properties", Severity.PROBLEM)
    ]


@pytest.mark.parametrize("lines", range(LINES + 1))
def test_cut_properties_are_read_from_the_backup(table, lines):
    cut(table, lines)
    assert rows(table) == ROWS
    found = problems(table)
    assert len(found) == (lines < ORDERING_LINE)
    assert all("hoodie.properties.backup is read instead" in text for text in found)


@pytest.mark.parametrize("lines", range(LINES + 1))
def test_cut_properties_without_a_backup_are_refused(table, lines):
    cut(table, lines)
    (table / BACKUP_FILE).unlink()
    if lines >= ORDERING_LINE:
        assert rows(table) == ROWS
        assert problems(table) == []
        return
    found = problems(table)
    with pytest.raises(CorruptTableError, match="Restore") as raised:
        rows(table)
    assert ("It has no .backup" in str(raised.value)) == (lines < NAME_LINE)
    names_fields = "names neither an ordering field nor a payload class"
    assert (names_fields in str(raised.value)) == (lines >= NAME_LINE)
    assert len(found) == 1
    assert found[0] in str(raised.value) or "merges are refused" in found[0]


PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"


@pytest.mark.parametrize("lines", range(NAME_LINE, ORDERING_LINE))
def test_delete_with_an_ordering_value_shows_that_the_field_is_lost(table, lines):
    """With a payload class alone Apache Hudi may write properties that name no ordering field."""
    cut(table, lines)
    (table / BACKUP_FILE).unlink()
    set_property(table, "hoodie.table.legacy.payload.class", PAYLOAD)
    assert problems(table) == []
    with pytest.raises(CorruptTableError, match=r"2 deletes have an ordering value, but"):
        rows(table)
    assert HudiTable(table).scan(query_type="read_optimized").count() > 0


@pytest.mark.parametrize("lines", range(NAME_LINE, ORDERING_LINE))
def test_base_files_are_read_without_ordering_fields(table, lines):
    cut(table, lines)
    (table / BACKUP_FILE).unlink()
    assert HudiTable(table).scan(query_type="read_optimized").count() > 0


def test_backup_is_compared_with_its_checksum_as_well(table):
    backup = table / BACKUP_FILE
    backup.write_text(backup.read_text().replace("nocombine_v9", "renamed"))
    with pytest.raises(CorruptTableError, match=r"backup cannot be read: .*'renamed'"):
        HudiTable(table)


def test_another_checksum_and_table_type_are_not_believed(table):
    text = (table / BACKUP_FILE).read_text()
    edited = text.replace("MERGE_ON_READ", "COPY_ON_WRITE").replace("=4008667893", "=1")
    (table / PROPERTIES_FILE).write_text(edited)
    assert rows(table) == ROWS
    (table / BACKUP_FILE).unlink()
    with pytest.raises(CorruptTableError, match="'nocombine_v9' give 4008667893"):
        HudiTable(table)


def test_inspection_shows_the_properties_that_are_read(table):
    shown = HudiTable(table).inspect.properties().to_pylist()
    assert {"key": "hoodie.table.ordering.fields", "value": "ts"} in shown


@pytest.mark.parametrize("place", range(0, 1200, 7))
def test_no_flipped_byte_gives_other_rows(table, place):
    """Other properties than those that the checksum covers are refused, or do not decide rows."""
    (table / BACKUP_FILE).rename(table / PROPERTIES_FILE)
    content = bytearray((table / PROPERTIES_FILE).read_bytes())
    if place >= len(content):
        return
    content[place] ^= 1
    (table / PROPERTIES_FILE).write_bytes(content)
    with suppress(HudiError):
        assert rows(table) == ROWS
