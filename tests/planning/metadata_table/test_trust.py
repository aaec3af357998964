"""Which histories of commits an index may be relied upon after."""

from types import SimpleNamespace

import pytest

from hudi_pyspark.format.timeline.commit_metadata import WriteOperationType
from hudi_pyspark.format.timeline.instant import Instant
from hudi_pyspark.planning.metadata_table import trust
from hudi_pyspark.table.timeline import Timeline


def instant(name):
    return Instant.parse(name, 2)


def table(*names, archived=(), merge_on_read=True, commits=()):
    """A view with the instants of some timeline files, and the metadata of some commits."""
    old = [SimpleNamespace(instant=instant(name)) for name in archived]
    metadata = [
        SimpleNamespace(
            operation_type=operation,
            all_stats=lambda stats=stats: [
                (partition, SimpleNamespace(num_inserts=inserts, num_deletes=deletes))
                for partition, inserts, deletes in stats
            ],
        )
        for operation, *stats in commits
    ]
    return SimpleNamespace(
        timeline=Timeline.collapse(map(instant, names)),
        config=SimpleNamespace(is_merge_on_read=merge_on_read),
        history=SimpleNamespace(archived=tuple(old)),
        commit_metadata=SimpleNamespace(of=lambda _: dict(enumerate(metadata))),
    )


@pytest.fixture(autouse=True)
def rollbacks(monkeypatch):
    """Rolled-back instants by the timeline file of their rollback."""
    known: dict[str, list[str]] = {}

    def listed(_view, *, archived):
        assert archived
        return [
            (instant(name), SimpleNamespace(rolled_back_times=times), False)
            for name, times in known.items()
        ]

    monkeypatch.setattr(trust, "known_rollbacks", listed)
    return known


ONE_BY_ONE = ["10_11.deltacommit", "12_13.deltacommit", "14_15.replacecommit"]


def test_commits_one_after_another_have_seen_the_slices_of_a_query():
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE)) == ""


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["16.deltacommit.inflight"], "deltacommit 16 is pending"),
        (["16.compaction.requested"], "compaction 16 is pending"),
        (["16_17.restore"], "the table was restored at 16"),
        (["16_19.deltacommit", "17_18.deltacommit"], "commits at 17 and before it overlapped"),
        (["16_18.deltacommit", "17_19.deltacommit"], "commits at 17 and before it overlapped"),
        (["16_18.commit", "17_19.deltacommit"], "a compaction ended at 18, in the middle of"),
    ],
)
def test_history_in_which_a_commit_saw_other_slices(names, reason):
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE, *names)).startswith(reason)


def test_compaction_computes_again_what_commits_during_it_could_not_see():
    names = [*ONE_BY_ONE, "16_19.commit", "17_18.deltacommit"]
    assert trust.why_slices_may_have_differed(table(*names)) == ""
    assert trust.why_slices_may_have_differed(table(*names, merge_on_read=False))


def test_commit_that_overlapped_in_the_archive_counts():
    archived = ["02_05.deltacommit", "03_04.deltacommit"]
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE, archived=archived))
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE, archived=archived[:1])) == ""


def test_commit_that_failed_counts_until_its_rollback_is_done(rollbacks):
    rollbacks["16_17.rollback"] = ["155"]
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE, "20_21.deltacommit")) == ""
    assert trust.why_slices_may_have_differed(table(*ONE_BY_ONE, "156_157.deltacommit"))


UPSERT = WriteOperationType.UPSERT


@pytest.mark.parametrize(
    ("stats", "may_have_moved"),
    [
        ([("a", 3, 0), ("b", 2, 0)], False),
        ([("a", 0, 3), ("b", 0, 1)], False),
        ([("a", 3, 3)], False),
        ([("a", 0, 1), ("b", 1, 0)], True),
        ([("a", 1, 1), ("b", 1, 1)], True),
    ],
)
def test_rows_move_by_a_delete_here_and_an_insert_there(stats, may_have_moved):
    history = table(commits=[(UPSERT, ("a", 9, 0)), (UPSERT, *stats)])
    assert bool(trust.why_rows_may_have_moved(history)) is may_have_moved


@pytest.mark.parametrize(
    ("operation", "archived", "reason"),
    [
        (UPSERT, (), ""),
        (UPSERT, ["02_03.deltacommit"], "archived commits may have repeated keys"),
        (WriteOperationType.INSERT, (), "may have repeated keys"),
        (WriteOperationType.BULK_INSERT, (), "may have repeated keys"),
    ],
)
def test_keys_may_repeat_after_an_insert(operation, archived, reason):
    found = trust.why_keys_may_repeat(table(commits=[(operation,)], archived=archived))
    assert bool(found) is bool(reason)
    assert reason in found
