"""Errors about damage advise to read on only if that works, and name the table."""

import pytest

from hudi_pyspark import CorruptBaseFileError, CorruptLogBlockError, HudiError, HudiTable
from hudi_pyspark.errors import CorruptTimelineError
from tests.damage import unpack

CASE = "v6_mor_part_basic"
ADVICE = "on_damage=warn"


@pytest.fixture
def table(tmp_path):
    return unpack(CASE, tmp_path)


def files_of(table, pattern):
    return sorted(p for p in table.rglob(pattern) if ".hoodie" not in p.parts)


def read(table, **options):
    return HudiTable(table).scan(use_metadata_table=False, **options).to_arrow()


def error_of(table, kind, file, **options):
    with pytest.raises(kind) as raised:
        read(table, **options)
    text = str(raised.value)
    assert text.count(file.name) == 1
    assert text.count(str(file)) == 1  # the path of the table and that of the file
    return text


def advice_fits(table, text):
    """Try what the advice says."""
    try:
        read(table, on_damage="warn")
    except HudiError:
        return ADVICE not in text
    return ADVICE in text


def test_base_file_that_is_cut_cannot_be_read_on(table):
    for file in files_of(table, "*.parquet"):
        file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CorruptBaseFileError, match="it is cut, or another file") as raised:
        read(table)
    assert ADVICE not in str(raised.value)
    assert "as.of.instant" in str(raised.value)
    assert advice_fits(table, str(raised.value))


def test_another_base_file_in_its_place_can_be_read(table):
    files = sorted(files_of(table, "*.parquet"), key=lambda path: path.stat().st_size)
    files[0].write_bytes(files[-1].read_bytes())
    text = error_of(table, CorruptBaseFileError, files[0], query_type="read_optimized")
    assert ADVICE in text
    assert text.index("its commit says") < text.index(ADVICE)


def test_log_file_that_is_cut_within_its_last_block_can_be_read_on(table):
    file = files_of(table, ".*.log.*")[0]
    file.write_bytes(file.read_bytes()[:-3])
    text = error_of(table, CorruptLogBlockError, file)
    assert ADVICE in text
    assert advice_fits(table, text)


def test_log_file_that_is_cut_and_has_another_damage_cannot_be_read_on(table):
    file = files_of(table, ".*.log.*")[0]
    file.write_bytes(b"?" + file.read_bytes()[1:-3])
    text = error_of(table, CorruptLogBlockError, file)
    assert ADVICE not in text
    assert "query_type=read_optimized" in text
    assert advice_fits(table, text)


def test_error_of_a_block_names_table_and_file(table):
    file = files_of(table, ".*.log.*")[0]
    file.write_bytes(b"?" + file.read_bytes()[1:])
    assert ADVICE not in error_of(table, CorruptLogBlockError, file)


def test_error_of_the_timeline_names_table_and_file(table):
    file = max((table / ".hoodie").glob("*.deltacommit"))
    file.write_bytes(b"?")
    error_of(table, CorruptTimelineError, file)


def test_advice_of_a_base_file_is_not_part_of_what_was_found(table):
    files = sorted(files_of(table, "*.parquet"), key=lambda path: path.stat().st_size)
    files[0].write_bytes(files[-1].read_bytes())
    with pytest.raises(CorruptBaseFileError) as raised:
        read(table, query_type="read_optimized")
    error = raised.value
    assert "on_damage" not in error.found
    assert ADVICE in error.advice
