"""Bad input, end to end and without Spark: a named error, or the rows that are left."""

import inspect
import logging
import pickle
import re

import pyarrow as pa
import pytest

from hudi_pyspark import CorruptLogBlockError, HudiError, HudiTable
from tests.bad_inputs import BAD_INPUTS, BAD_INPUTS_BY_NAME, COW, MOR, MOR_V6
from tests.conftest import GOLDEN
from tests.damage import unpack
from tests.golden.case import load_case

each_bad_input = pytest.mark.parametrize("bad", BAD_INPUTS, ids=lambda bad: bad.name)


def read(path, options) -> pa.Table:
    return HudiTable(str(path)).scan(**options).to_arrow()


def expected(case: str, query: str = "snapshot") -> pa.Table:
    """Apache Hudi's rows."""
    return next(q for q in load_case(GOLDEN / case).queries if q.name == query).expected_rows()


def keys(table: pa.Table) -> list[str]:
    return sorted(table["_hoodie_record_key"].to_pylist())


@each_bad_input
def test_error_is_of_its_own_class_and_says_what_where_and_what_to_do(bad, tmp_path):
    path = bad.prepare(tmp_path)
    with pytest.raises(HudiError) as raised:
        read(path, bad.options)
    assert raised.type is bad.error
    message = str(raised.value)
    assert message.startswith(f"[{bad.error.code}] ")
    assert [text for text in bad.says if text not in message] == []


@each_bad_input
def test_error_survives_pickling(bad, tmp_path):
    path = bad.prepare(tmp_path)
    with pytest.raises(HudiError) as raised:
        read(path, bad.options)
    before = raised.value
    after = pickle.loads(pickle.dumps(before))
    assert (type(after), after.args, str(after)) == (type(before), before.args, str(before))


@each_bad_input
def test_the_same_table_reads_well_without_the_harm(bad, tmp_path):
    assert read(unpack(bad.case, tmp_path), {}).num_rows == expected(bad.case).num_rows


@pytest.mark.parametrize("bad", [b for b in BAD_INPUTS if not b.at_reading], ids=lambda b: b.name)
def test_what_the_timeline_tells_is_found_before_any_file_is_read(bad, tmp_path):
    path = bad.prepare(tmp_path)
    with pytest.raises(bad.error):
        HudiTable(str(path)).scan(**bad.options).plan()


@pytest.mark.parametrize("bad", [b for b in BAD_INPUTS if b.at_reading], ids=lambda b: b.name)
def test_damage_inside_a_file_is_found_when_it_is_read(bad, tmp_path):
    scan = HudiTable(str(bad.prepare(tmp_path))).scan(**bad.options)
    assert scan.plan()
    with pytest.raises(bad.error):
        scan.to_arrow()


def test_bad_inputs_differ_in_class_wherever_a_caller_would_act_differently():
    classes = {bad.name: bad.error for bad in BAD_INPUTS}
    apart = ["not-a-table", "missing-path", "partition-of-a-table", "unknown-query-type"]
    apart += ["no-instant", "future-instant", "missing-base-file", "truncated-base-file"]
    apart += ["truncated-log-file", "version-11", "foreign-payload", "cleaned-instant"]
    assert len({classes[name] for name in apart}) == len(apart)
    assert all(inspect.isclass(error) for error in classes.values())


@pytest.mark.parametrize("name", ["truncated-log-file", "truncated-log-file-v6"])
@pytest.mark.parametrize("on_damage", ["warn", "ignore"])
def test_truncated_log_file_gives_what_is_left_of_it_when_asked_to(
    name, on_damage, tmp_path, caplog
):
    bad = BAD_INPUTS_BY_NAME[name]
    with caplog.at_level(logging.WARNING, logger="hudi_pyspark"):
        found = read(bad.prepare(tmp_path), {"on_damage": on_damage})
    sizes = [line for line in caplog.messages if "but its commit says" in line]
    assert len(sizes) == (1 if on_damage == "warn" else 0)
    assert not any("skipped" in line for line in caplog.messages)  # the damage is told once
    # The file's only block is torn: without it the rows that it changed keep their older state.
    whole = expected(bad.case)
    assert found.num_rows > 0
    assert sorted(map(str, found.to_pylist())) != sorted(map(str, whole.to_pylist()))


def test_torn_tail_behind_the_committed_bytes_is_skipped_without_a_word_to_the_caller(tmp_path):
    table = unpack(MOR, tmp_path)
    for log in [p for p in table.glob(".*.log.*") if p.suffix != ".crc"]:
        with log.open("ab") as file:
            file.write(log.read_bytes()[:50])
    found = read(table, {})
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected(MOR).to_pylist()))


@pytest.mark.parametrize("name", ["foreign-payload", "foreign-merger"])
def test_base_files_of_a_table_with_a_foreign_payload_can_be_read_alone(name, tmp_path):
    bad = BAD_INPUTS_BY_NAME[name]
    found = read(bad.prepare(tmp_path), {"query_type": "read_optimized"})
    assert keys(found) == keys(expected(bad.case, "read_optimized"))


def test_foreign_payload_does_not_matter_without_log_files(tmp_path):
    harm = BAD_INPUTS_BY_NAME["foreign-payload"].harm
    table = unpack(COW, tmp_path)
    harm(table)
    assert keys(read(table, {})) == keys(expected(COW))


@pytest.mark.parametrize("bad", ["empty-properties", "garbled-properties"])
def test_backup_of_the_properties_stands_in(bad, tmp_path):
    table = unpack(COW, tmp_path)
    properties = table / ".hoodie" / "hoodie.properties"
    (table / ".hoodie" / "hoodie.properties.backup").write_bytes(properties.read_bytes())
    BAD_INPUTS_BY_NAME[bad].harm(table)
    assert keys(read(table, {})) == keys(expected(COW))


def test_damaged_file_does_not_matter_to_an_instant_before_it(tmp_path):
    bad = BAD_INPUTS_BY_NAME["truncated-base-file"]
    case = load_case(GOLDEN / bad.case)
    before = next(q for q in case.queries if q.name == "as_of_c1")
    found = read(bad.prepare(tmp_path), before.options)
    assert keys(found) == keys(before.expected_rows())


def test_file_error_names_the_whole_path(tmp_path):
    bad = BAD_INPUTS_BY_NAME["truncated-base-file"]
    with pytest.raises(HudiError, match=re.escape(str(tmp_path))):
        read(bad.prepare(tmp_path), {})


def test_unknown_option_of_hudi_is_ignored_with_a_warning(tmp_path):
    table = unpack(COW, tmp_path)
    with pytest.warns(UserWarning, match=r"hoodie\.datasource\.query\.typ is ignored.*query\.type"):
        found = read(table, {"hoodie.datasource.query.typ": "read_optimized"})
    assert found.num_rows == expected(COW).num_rows


def test_committed_log_damage_is_never_read_over_by_default(tmp_path):
    table = unpack(MOR_V6, tmp_path)
    for log in [p for p in table.glob(".*.log.*") if p.suffix != ".crc"]:
        content = log.read_bytes()
        log.write_bytes(content[: len(content) // 2])
        with pytest.raises(CorruptLogBlockError, match="but its commit says"):
            read(table, {})
        log.write_bytes(content)
    assert read(table, {}).num_rows == expected(MOR_V6).num_rows
