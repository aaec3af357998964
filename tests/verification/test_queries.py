from pathlib import Path
from random import Random

from hudi_pyspark.table.merge_mode import DELETE_FIELD, DELETE_MARKER
from verification.histories.instants import Instant, completed_commits
from verification.histories.queries import QueryKind, all_ranges, every_query, random_queries
from verification.histories.writers import history_of

INSTANTS = (Instant("10", "12", "commit"), Instant("20", "23", "deltacommit"))


def test_ranges_use_requested_and_completion_times() -> None:
    ranges = all_ranges(INSTANTS)
    assert ranges[:5] == [("000", ""), ("10", ""), ("12", ""), ("20", ""), ("23", "")]
    assert ("12", "20") in ranges
    assert all(begin < end for begin, end in ranges if end)


def test_every_instant_is_asked_for_by_time_travel() -> None:
    queries = list(every_query(QueryKind.AS_OF, INSTANTS))
    assert [q.options["as.of.instant"] for q in queries] == ["10", "20"]


def test_the_same_random_state_gives_the_same_queries() -> None:
    history = history_of(1, 0, "1.2.0")
    first, second = (list(random_queries(history, INSTANTS, Random(4))) for _ in range(2))
    assert first == second
    assert {QueryKind.SNAPSHOT, QueryKind.INCREMENTAL} <= {q.kind for q in first}


def test_a_query_is_spelled_by_its_kind_options_and_filter() -> None:
    query = next(every_query(QueryKind.AS_OF, INSTANTS)).with_filter("id = 1")
    assert str(query) == "as_of of=10 where id = 1"


def test_commits_of_a_downgraded_table_are_found_beside_its_empty_timeline(tmp_path: Path) -> None:
    timeline = tmp_path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline / "20_23.deltacommit").touch()
    assert completed_commits(tmp_path) == (Instant("20", "23", "deltacommit"),)
    (timeline / "20_23.deltacommit").unlink()
    for name in ("20.deltacommit", "20.deltacommit.requested", "20.deltacommit.inflight"):
        (tmp_path / ".hoodie" / name).touch()
    assert completed_commits(tmp_path) == (Instant("20", "20", "deltacommit"),)


def test_values_of_each_type_are_delete_markers() -> None:
    kinds = set()
    for number in range(120):
        history = history_of(59, number, "1.2.0")
        for query in random_queries(history, INSTANTS, Random(number)):
            if DELETE_FIELD in query.options:
                assert query.options[DELETE_MARKER]
                kinds.add(history.column_type(query.options[DELETE_FIELD]))
    assert {"double", "date", "timestamp", "string", "int", "long", "boolean"} <= kinds
