"""Changes add up: a snapshot and what was written after it give the next snapshot.

``GOLDEN_CASES=folder`` runs the same over another folder of golden cases.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_pyspark import CorruptTableError, HudiTable, IncrementalRangeError, TimeTravelError
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from tests.columns.json_oracle import json_value
from tests.conftest import GOLDEN
from tests.golden.case import Case, load_cases
from tests.golden.compare import arrow_type_name, changelog_rows, rows_of
from tests.golden.deviations import accepted_deviations, certain_answers
from tests.process_state import in_zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CASES = load_cases(Path(os.environ.get("GOLDEN_CASES", GOLDEN)))
CASES_BY_NAME = {case.name: case for case in CASES}
CDC_CASES = [c for c in CASES if any(q.name.startswith("cdc") for q in c.queries)]
RANGE_CASES = [c for c in CASES if any(q.name.startswith("incr") for q in c.queries)]
QUERIES = {query.key for case in CASES for query in case.queries}
CLAIMED = [q for q, answer in certain_answers().items() if Path(__file__).name in answer.reason]
CERTAIN = [key for key in CLAIMED if key in QUERIES]
CHANGE_COLUMNS = ["_change_type", "_commit_version", "_commit_timestamp"]
COMMIT_TIME = "_hoodie_commit_time"
# A late partial update changes a row, but not its commit time: no range holds it.
LATE_PARTIAL_UPDATES = {f"v{version}_mor_partial_merge_into": 1 for version in (8, 9, 10)}
# Unchanged rows move to another file when their file is rewritten.
MOVING = ("_hoodie_file_name",)

pytestmark = pytest.mark.filterwarnings("ignore:incremental query of:UserWarning")


def by_name(case):
    return case.name


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A case's table, unzipped once."""

    @cache
    def open_case(name: str) -> HudiTable:
        folder = tmp_path_factory.mktemp(name)
        return HudiTable(str(CASES_BY_NAME[name].extract(folder)))

    return open_case


def commits(table: HudiTable) -> list[tuple[str, str]]:
    """Requested time of each commit, and the time that ranges of latest rows compare."""
    return [
        (c.requested_time, (c.completion_time if table.config.version >= 8 else None) or
         c.requested_time)
        for c in table._view.history.commits
    ]  # fmt: skip


def snapshot_at(case: Case, table: HudiTable, time: str) -> pa.Table:
    """The table as of a commit: Apache Hudi's answer where there is one, or else ours."""
    known = [q for q in case.queries if q.answer is not None and q.key not in accepted_deviations()]
    for query in known:
        is_latest = query.name == "snapshot" and time == table.last_instant
        if is_latest or query.options.get("as.of.instant") == time:
            return query.expected_rows()
    return table.scan(as_of=time).to_arrow()


def steps(
    case: Case, table: HudiTable
) -> Iterator[tuple[tuple[str, str], tuple[str, str], pa.Table, pa.Table]]:
    """Begin and end of each commit's own range, and the snapshots before and after it."""
    before: pa.Table | None = table.schema.empty_table()
    begin = ("000", "000")
    for end in commits(table):
        try:
            after = snapshot_at(case, table, end[0])
        except (TimeTravelError, CorruptTableError):
            # Cleaned away; or a bootstrap, whose commit knows only the key columns.
            after = None
        if before is not None and after is not None:
            yield begin, end, before, after
        before = after
        begin = end


def data_rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows of data columns."""
    return Counter(rows_of(table.select([n for n in table.schema.names if n[:8] != "_hoodie_"])))


def images(changes: pa.Table, column: str, operations: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """One kind of images of some operations, as rows."""
    chosen = changes.filter(pc.is_in(changes["op"], pa.array(operations)))[column]
    structs = chosen.combine_chunks()
    return Counter(rows_of(pa.Table.from_arrays(structs.flatten(), schema=pa.schema(structs.type))))


def changes_of(table: HudiTable, begin: str, end: str, **options: str) -> pa.Table:
    given: dict[str, Any] = {
        "cdc": "true",
        "cdc_format": "struct",
        "begin": begin,
        "end": end,
        **options,
    }
    return table.scan(**given).to_arrow()


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_changes_of_each_commit_turn_one_snapshot_into_the_next(case, opened):
    table = opened(case.name)
    seen = 0
    for begin, end, before, after in steps(case, table):
        changes = changes_of(table, begin[0], end[0])
        removed = images(changes, "before", ["u", "d"])
        added = images(changes, "after", ["i", "u"])
        present = data_rows(before)
        assert removed <= present, f"{end}: images of rows that were not there"
        assert present - removed + added == data_rows(after), end
        assert set(changes["ts_ms"].to_pylist()) <= {end[0]}
        seen += 1
    assert seen == len(commits(table))


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_changes_of_a_long_range_are_those_of_its_commits(case, opened):
    table = opened(case.name)
    times = ["000", *(requested for requested, _ in commits(table))]
    single = [changes_of(table, *pair) for pair in pairwise(times)]
    whole = changes_of(table, "000", times[-1])
    assert Counter(rows_of(whole)) == Counter(rows_of(pa.concat_tables(single)))
    assert Counter(rows_of(changes_of(table, times[2], times[-1]))) == Counter(
        rows_of(pa.concat_tables(single[2:]))
    )


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_images_are_there_for_the_operations_that_have_them(case, opened):
    changes = changes_of(opened(case.name), "000", "9")
    found = {
        (op, before is not None, after is not None)
        for op, before, after in zip(
            *(changes[name].to_pylist() for name in ("op", "before", "after")), strict=True
        )
    }
    assert {("i", False, True), ("u", True, True)} <= found
    assert found <= {("i", False, True), ("u", True, True), ("d", True, False)}


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_struct_images_hold_what_the_json_images_say(case, opened):
    table = opened(case.name)
    structs = changes_of(table, "000", "9")
    texts = changes_of(table, "000", "9", cdc_format="json")
    assert texts.num_rows == structs.num_rows > 0
    for name in ("before", "after"):
        kind = structs[name].type
        expected = [json_value(value, kind) for value in structs[name].to_pylist()]
        assert [t and json.loads(t) for t in texts[name].to_pylist()] == expected
    assert texts.select(["op", "ts_ms"]).equals(structs.select(["op", "ts_ms"]))


CHANGELOG_QUERIES = [
    (case, query)
    for case in CDC_CASES
    for query in case.queries
    if query.name.startswith("cdc")
    and query.answer is not None
    and query.key not in accepted_deviations()
]


@pytest.mark.parametrize(
    ("case", "query"), CHANGELOG_QUERIES, ids=[query.key for _, query in CHANGELOG_QUERIES]
)
def test_changelog_has_a_row_for_each_image_of_apache_hudi(case, query, opened):
    options = {**query.options, "cdc_format": "changelog"}
    answer = opened(case.name).scan(**options).to_arrow()
    changes = query.expected_rows()
    ours, theirs = changelog_rows(answer, changes)
    assert ours == theirs
    assert bool(theirs) == bool(changes.num_rows)


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_changelog_has_the_same_values_as_struct_images(case, opened):
    table = opened(case.name)
    structs = changes_of(table, "000", "9")
    changelog = table.changes(as_changelog=True).to_arrow()
    for kind, side, operation in (
        ("insert", "after", "i"),
        ("delete", "before", "d"),
        ("update_preimage", "before", "u"),
        ("update_postimage", "after", "u"),
    ):
        rows = changelog.filter(pc.equal(changelog["_change_type"], kind))
        assert Counter(rows_of(rows.drop_columns(CHANGE_COLUMNS))) == images(
            structs, side, [operation]
        )


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_preimage_of_a_changelog_comes_right_before_its_postimage(case, opened):
    options = {"cdc": "true", "begin": "000", "cdc_format": "changelog"}
    rows = opened(case.name).scan(**options, columns="id,_change_type").to_arrow()
    pairs = list(pairwise([("", ""), *zip(*rows.to_pydict().values(), strict=True), ("", "")]))
    before = [first[0] for first, second in pairs if second[1] == "update_postimage"]
    assert before == [first[0] for first, _ in pairs if first[1] == "update_preimage"]
    assert before == [second[0] for _, second in pairs if second[1] == "update_postimage"]


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_changelog_of_some_columns_and_rows_is_a_part_of_the_whole(case, opened, monkeypatch):
    options = {"cdc": "true", "begin": "000", "cdc_format": "changelog"}
    table = opened(case.name)
    whole = table.scan(**options).to_arrow()
    deleted = {**options, "filter": "_change_type = 'delete'"}
    expected = whole.filter(pc.equal(whole["_change_type"], "delete"))
    assert table.scan(**deleted).to_arrow().equals(expected)
    few = {**deleted, "columns": "_commit_version,id"}
    assert table.scan(**few).to_arrow().equals(expected.select(["_commit_version", "id"]))

    def fail(_):
        raise AssertionError("an image was made")

    monkeypatch.setattr("hudi_pyspark.reading.changes._as_structs", fail)
    assert table.scan(**options).count() == whole.num_rows
    types = table.scan(**options, columns="_change_type").to_arrow()
    assert types.equals(whole.select(["_change_type"]))


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_last_row_of_each_key_of_a_changelog_is_that_of_the_snapshot(case, opened):
    """As a pipeline keeps a copy of a table; see examples/pipelines.py."""
    table = opened(case.name)
    changelog = table.changes(as_changelog=True).to_arrow().to_pylist()
    copy: dict[str, dict[str, Any]] = {}
    changes = [row for row in changelog if row["_change_type"] != "update_preimage"]
    for row in sorted(
        changes, key=lambda row: row["_commit_version"] * 2 + (row["_change_type"] != "delete")
    ):
        copy.pop(row["id"], None)
        if row["_change_type"] != "delete":
            copy[row["id"]] = row
    schema = table.changes(as_changelog=True).schema
    rows = pa.Table.from_pylist(list(copy.values()), schema).drop_columns(CHANGE_COLUMNS)
    assert Counter(rows_of(rows)) == data_rows(snapshot_at(case, table, table.last_instant))


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 6), ("Asia/Tokyo", 21), ("America/Bogota", 11)])
def test_commit_timestamp_is_the_instant_in_the_zone_of_the_timeline(zone, hour, tmp_path):
    """The zone of a LOCAL timeline is that of the reader, as in Apache Hudi."""
    path = CASES_BY_NAME["v9_mor_cdc_data_before_after"].extract(tmp_path)
    with in_zone(zone):
        rows = HudiTable(str(path)).changes(as_changelog=True).to_arrow()
    first = rows["_commit_timestamp"][0].as_py()
    assert rows["_commit_version"][0].as_py() == 20261121063211338
    day = 20 if zone == "Asia/Tokyo" else 21
    assert first == dt.datetime(2026, 11, day, hour, 32, 11, 338000, tzinfo=dt.timezone.utc)


def keyed(table: pa.Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Record key and partition path to row, without its nulls; {} if a key comes twice."""
    keys = rows_of(table.select(["_hoodie_record_key", "_hoodie_partition_path"]))
    kept = [n for n in table.schema.names if n not in MOVING]
    # Without nulls, since a column may be added from one snapshot to the next.
    rows = [
        {name: value for name, value in zip(kept, row, strict=True) if value is not None}
        for row in rows_of(table.select(kept))
    ]
    found = dict(zip(keys, rows, strict=True))
    return found if len(found) == table.num_rows else {}


def upserted(
    old: dict[tuple[Any, ...], dict[str, Any]],
    written: dict[tuple[Any, ...], dict[str, Any]],
    new: dict[tuple[Any, ...], dict[str, Any]],
    ordering_fields: Sequence[str],
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows before with those of a range on top.

    A range is read without what lies below it, so that a late row in it may lose against the row
    that was there. Whether it does is the table's rule: here only rows of another ordering value
    may.
    """
    rows = {**old, **written}
    columns = [field.partition(".")[0] for field in ordering_fields]
    for key in written.keys() & old.keys():
        has_other_ordering = any(old[key].get(c) != written[key].get(c) for c in columns)
        if has_other_ordering and new.get(key) == old[key]:
            rows[key] = old[key]
    return rows


def steps_without_deletes(case: Case, table: HudiTable) -> Iterator[tuple[Any, ...]]:
    """Steps up to the first delete: after it, a late row may lose against a row that is gone.

    Log compaction gives the rows that it moves its own commit time, but they are not written anew.
    """
    for begin, end, before, after in steps(case, table):
        old, new = keyed(before), keyed(after)
        operation = table._view.history.metadata(end[0]).operation_type
        if not new or not set(old) <= set(new):
            return
        if operation != "LOG_COMPACT" and types(before) == types(after):
            yield begin, end, old, new, types(after)


def types(table: pa.Table) -> dict[str, str]:
    return {field.name: arrow_type_name(field.type) for field in table.schema}


def merges_whole_rows(table: HudiTable) -> bool:
    """Whether a row is always one that was written, never put together from several."""
    rule = resolve_merge_rule(table.config, "", "")
    return not (rule.needs_fold or rule.partial_update_mode)


@pytest.mark.parametrize("case", RANGE_CASES, ids=by_name)
def test_rows_of_each_commit_turn_one_snapshot_into_the_next(case, opened):
    table = opened(case.name)
    completed = [at for _, at in commits(table)]
    if not table.config.populate_meta_fields or completed != sorted(completed):
        pytest.skip("its rows do not name their commit, or its writers overlapped")
    if not merges_whole_rows(table):
        pytest.skip("its rows are put together from several")
    differing = []
    for begin, end, old, new, columns in steps_without_deletes(case, table):
        options = {"query_type": "incremental", "begin": begin[1], "end": end[1]}
        options |= {"on_missing": "fail", "hollow_commits": "use_transition_time"}
        try:
            answer = table.scan(**options).to_arrow()
        except IncrementalRangeError:  # files are cleaned away
            continue
        is_same = upserted(old, keyed(answer), new, table.config.ordering_fields) == new
        if not is_same and types(answer) == columns:
            differing.append(end)
    assert len(differing) == LATE_PARTIAL_UPDATES.get(case.name, 0), differing


def test_most_cases_have_steps_to_check(opened):
    tables = {case.name: opened(case.name) for case in RANGE_CASES}
    checked = {
        case.name: sum(1 for _ in steps_without_deletes(case, tables[case.name]))
        for case in RANGE_CASES
        if tables[case.name].config.populate_meta_fields and merges_whole_rows(tables[case.name])
    }
    assert sum(count > 0 for count in checked.values()) > len(checked) * 0.7
    assert sum(checked.values()) > 2 * len(checked)


def certain_query(key: str) -> tuple[Case, dict[str, str]]:
    case, _, name = key.partition("/")
    return CASES_BY_NAME[case], next(
        q.options for q in CASES_BY_NAME[case].queries if q.name == name
    )


def commits_in(table: HudiTable, options: dict[str, str]) -> list[str]:
    begin = options["hoodie.datasource.read.begin.instanttime"]
    end = options.get("hoodie.datasource.read.end.instanttime", "9")
    return [requested for requested, at in commits(table) if begin < at <= end]


def rows_of_commits(table: pa.Table, times: Sequence[str]) -> pa.Table:
    return table.filter(pc.is_in(table[COMMIT_TIME], pa.array(times, pa.string())))


@pytest.mark.parametrize("key", [k for k in CERTAIN if "incr" in k])
def test_rows_that_are_certain_are_those_of_the_snapshot_at_the_end_of_the_range(key, opened):
    case, options = certain_query(key)
    table = opened(case.name)
    times = commits_in(table, options)
    # Of cleaned slices only the latest are left: the query says so with a warning.
    at = table.last_instant if "clean_only" in key or not times else times[-1]
    expected = rows_of_commits(snapshot_at(case, table, at), times)
    answer = table.scan(**options).to_arrow()
    assert Counter(rows_of(answer.select(expected.schema.names))) == Counter(rows_of(expected))
    assert set(answer[COMMIT_TIME].to_pylist()) <= set(times)


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_changes_are_counted_without_their_images(case, opened, monkeypatch):
    options = {"cdc": "true", "begin": "000", "query_type": "incremental"}
    whole = opened(case.name).scan(**options).to_arrow()

    def fail(_):
        raise AssertionError("an image was made")

    monkeypatch.setattr("hudi_pyspark.reading.changes.json_text", fail)
    monkeypatch.setattr("hudi_pyspark.reading.changes._as_structs", fail)
    assert opened(case.name).scan(**options).count() == whole.num_rows
    few = opened(case.name).scan(**options, columns="ts_ms,op").to_arrow()
    assert few.equals(whole.select(["ts_ms", "op"]))


@pytest.mark.parametrize("case", CDC_CASES, ids=by_name)
def test_images_of_a_condition_are_made_although_nobody_sees_them(case, opened):
    options = {"cdc": "true", "begin": "000", "query_type": "incremental"}
    whole = opened(case.name).scan(**options).to_arrow()
    inserted = opened(case.name).scan(**options, filter="before IS NULL")
    assert inserted.count() == whole.column("before").null_count
    deleted = opened(case.name).scan(**options, filter="after IS NULL", columns="op")
    assert deleted.to_arrow().num_rows == whole.column("after").null_count


@pytest.mark.parametrize("key", [k for k in CERTAIN if "cdc" in k])
def test_changes_that_are_certain_add_up(key, opened):
    case, options = certain_query(key)
    table = opened(case.name)
    times = commits_in(table, options)
    begin = options["hoodie.datasource.read.begin.instanttime"]
    earlier = [requested for requested, _ in commits(table) if requested <= begin]
    before = snapshot_at(case, table, earlier[-1]) if earlier else table.schema.empty_table()
    changes = table.scan(**options, cdc_format="struct").to_arrow()
    rows = data_rows(before)
    rows.update(images(changes, "after", ["i", "u"]))
    rows.subtract(images(changes, "before", ["u", "d"]))
    assert +rows == data_rows(snapshot_at(case, table, times[-1]))
    assert min(rows.values()) >= 0


def test_each_kind_of_claim_is_checked_on_a_case():
    checked = {key.partition("/")[0] for key in CERTAIN}
    assert checked >= {
        "flink_v6_mor_cdc",
        "v6_mor_appended_logs",
        "v6_mor_clean_only",
        "v8_mor_partial_merge_compacted",
        "v8_mor_partial_merge_into",
    }
    assert {key.partition("/")[0].partition("_")[2] for key in CLAIMED} == {
        case.partition("_")[2] for case in checked
    }
