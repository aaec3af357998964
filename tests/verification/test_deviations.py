"""Rules by which an answer may differ from Apache Hudi's."""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from verification.histories import deviations
from verification.histories.answers import Answer, Failure
from verification.histories.comparison import Comparison, NoColumnError
from verification.histories.deviations import Rule
from verification.histories.instants import Instant
from verification.histories.partition_deviations import partition_value
from verification.histories.queries import QueryKind

FIRST, WRITE = Instant("010", "015", "deltacommit"), Instant("020", "040", "deltacommit")


def comparison(path, kind=QueryKind.INCREMENTAL, times=("020",), last=WRITE, **options: str) -> Any:
    """An answer with rows of some commits that Apache Hudi does not return."""
    found = SimpleNamespace(missing=Counter(), extra=Counter(times))
    return SimpleNamespace(
        missing=found.missing,
        extra=found.extra,
        path=path,
        table_version=8,
        instants=(FIRST, WRITE),
        query=SimpleNamespace(kind=kind, options=options, filter=""),
        difference=lambda: found,
        values=lambda rows, _: {*rows},
        last_of_range=lambda: last,
    )


@pytest.fixture
def path(tmp_path):
    timeline = tmp_path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / "030.compaction.requested").touch()
    return tmp_path


def test_range_that_ends_with_a_commit_during_which_a_compaction_was_planned_is_d31(path):
    assert deviations._travel_before_plan(comparison(path))
    travel: dict[str, Any] = {"kind": QueryKind.AS_OF, "last": None, "as.of.instant": "020"}
    assert deviations._travel_before_plan(comparison(path, **travel))


@pytest.mark.parametrize(
    "other", [{"last": FIRST}, {"times": ("010", "020")}, {"kind": QueryKind.SNAPSHOT}], ids=str
)
def test_other_rows_and_ranges_are_not_d31(path, other):
    assert not deviations._travel_before_plan(comparison(path, **other))


def test_rule_that_asks_for_a_column_that_is_not_returned_explains_nothing(path, monkeypatch):
    answer = Answer((("v", "int"),), ((1,),))
    found = comparison(path, times=((1,),))
    make: Any = Comparison
    found.values = make(None, path, (), found.query, answer, answer, None).values
    with pytest.raises(NoColumnError):
        deviations._travel_before_plan(found)
    monkeypatch.setattr(deviations, "RULES", [Rule("D31", deviations._travel_before_plan)])
    assert deviations._first_rule(found) == ""


def test_changes_that_lack_a_partition_column_are_not_d7(path):
    found = comparison(path, QueryKind.CDC)
    found.history = SimpleNamespace(partition_fields=("p",), column_type=lambda _: "string")
    ours: Any = SimpleNamespace(names=("op", "before", "after"))
    found.place = partial(Comparison.place, ours)
    found.is_encoded = False
    assert not partition_value(found)
    found.query.kind = QueryKind.INCREMENTAL
    with pytest.raises(NoColumnError):
        partition_value(found)


def test_changes_with_other_images_are_not_d34(path):
    columns = tuple((name, "string") for name in ("op", "ts_ms", "before", "after"))
    theirs, ours = (Answer(columns, (("i", "1", None, text),)) for text in ('{"v":1}', '{"v":2}'))
    found = comparison(path, QueryKind.CDC)
    found.history = SimpleNamespace(image_columns=frozenset({"v"}))
    assert deviations._agree_but_for_compacted_logs(found, theirs, theirs)
    assert not deviations._agree_but_for_compacted_logs(found, theirs, ours)


def test_metadata_table_without_a_commit_is_noticed(path):
    found = comparison(path)
    assert not deviations._metadata_table_lacks_commit(found)  # there is none
    timeline = path / ".hoodie" / "metadata" / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / "00000000000000000_005.deltacommit").touch()
    (timeline / "010_015.deltacommit").touch()
    assert deviations._metadata_table_lacks_commit(found)
    (timeline / "030_045.deltacommit").touch()
    assert deviations._metadata_table_lacks_commit(found)
    (timeline / "020_041.deltacommit").touch()
    assert not deviations._metadata_table_lacks_commit(found)


def test_changes_of_delta_commits_of_a_table_that_became_copy_on_write_are_d74(
    tmp_path,
):
    instants = [
        {"requested_time": "010", "action": "deltacommit"},
        {"requested_time": "020", "action": "commit"},
    ]
    timeline = SimpleNamespace(to_pylist=lambda: instants)
    found = comparison(tmp_path, QueryKind.CDC)
    found.inspect = SimpleNamespace(timeline=lambda: timeline)
    (rule,) = (rule for rule in deviations.RULES if rule.number == "D74")
    cases = ((["010"], True, True), (["010", "020"], True, False), (["010"], False, False))
    for missing, is_copy_on_write, expected in cases:
        found.missing = Counter(missing)
        found.is_copy_on_write = is_copy_on_write
        found.difference = lambda rows=found.missing: SimpleNamespace(missing=rows, extra=Counter())
        assert rule.applies(found) is expected


def test_deletes_of_rows_that_time_travel_shows_no_more_are_d86(tmp_path):
    columns = ("op", "ts_ms", "before")
    gone = ("d", "020", (("id", 1),))
    kept = ("d", "020", (("id", 2),))
    insert = ("i", "020", None)
    at_commit = Answer((("id", "integer"),), ((2,), (3,)))
    found = comparison(tmp_path, QueryKind.CDC)
    found.column = lambda row, name: row[columns.index(name)]
    found.history = SimpleNamespace(record_keys=("id",), partition_fields=())
    found.ask_hudi = lambda _query: at_commit
    cases = (([gone], True), ([gone, kept], False), ([insert], False))
    for extra, expected in cases:
        found.extra = Counter(extra)
        assert deviations._lost_delete(found) is expected
    found.ask_hudi = lambda _query: Failure("E", "no answer")
    found.extra = Counter([gone])
    assert not deviations._lost_delete(found)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({}, True, id="any"),
        pytest.param({"kinds": (QueryKind.CDC,)}, False, id="of changes"),
        pytest.param({"versions": range(8)}, False, id="of older tables"),
        pytest.param({"only": "extra"}, True, id="rows too many"),
        pytest.param({"only": "missing"}, False, id="rows missing"),
        pytest.param({"is_filtered": True}, False, id="with a filter"),
        pytest.param({"when": lambda c: c.table_version == 8}, True, id="condition is met"),
        pytest.param({"when": lambda c: c.table_version == 9}, False, id="condition is not met"),
    ],
)
def test_rule_applies_to_the_queries_and_tables_that_it_names(tmp_path, rule, expected):
    assert Rule("D0", lambda _: True, **rule).applies(comparison(tmp_path)) is expected


def test_rule_of_rows_needs_rows_that_differ(tmp_path):
    same = comparison(tmp_path)
    same.difference = lambda: None
    assert not Rule("D0", lambda _: True).applies(same)
    assert Rule("D0", lambda _: True, has_rows=False).applies(same)


@pytest.mark.parametrize("folder", ["a", "d e", "p=1/q=2"])
def test_path_of_a_missing_file_may_have_spaces(folder):
    path = f"/tables/t/{folder}/f-3_0-1-2_020.parquet"
    text = f"[HUDI_X] the changes of commit 020 are no longer known: {path} was committed (010)"
    assert deviations._missing_path(text) == path


def test_error_that_names_no_committed_file_misses_none():
    assert deviations._missing_path("[HUDI_X] gone") == ""
