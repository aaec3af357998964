"""Files of a timeline in the place of one another: each is refused by what it lacks."""

from functools import cache

import pytest

from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.timeline import instant_metadata
from hudi_pyspark.format.timeline.instant import Action, Instant, InstantState, NotAnInstant
from verification.common.archives import files_of

COMPLETED = InstantState.COMPLETED
INFLIGHT = InstantState.INFLIGHT
REQUESTED = InstantState.REQUESTED
COMMITS = {
    (action, state)
    for action in (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)
    for state in (COMPLETED, INFLIGHT)
}
# Whose files each function decodes.
DECODED = {
    "parse_commit_metadata": COMMITS,
    "parse_replace_metadata": {(Action.REPLACE_COMMIT, COMPLETED)},
    "parse_compaction_plan": {(Action.COMPACTION, REQUESTED), (Action.LOG_COMPACTION, REQUESTED)},
    # An upgrade of a table may write the metadata of a commit instead.
    "parse_replace_plan": {
        (Action.REPLACE_COMMIT, REQUESTED),
        (Action.CLUSTERING, REQUESTED),
        (Action.INDEXING, COMPLETED),  # has an operation as well, which is none of a clustering
        *COMMITS,
    },
    "parse_clean_metadata": {(Action.CLEAN, COMPLETED)},
    "parse_rollback_metadata": {(Action.ROLLBACK, COMPLETED)},
    "parse_rollback_plan": {(Action.ROLLBACK, REQUESTED), (Action.RESTORE, REQUESTED)},
    "parse_restore_metadata": {(Action.RESTORE, COMPLETED)},
    "parse_savepoint_metadata": {(Action.SAVEPOINT, COMPLETED)},
}
CASES = [
    "v2_mor_archived",
    "v2_mor_replace",
    "v6_mor_replace",
    "v6_mor_appended_logs",
    "v6_mor_log_compaction",
    "v8_mor_savepoint_restore",
    "v9_mor_archived",
    "v9_cow_cdc_data_before",
    "v10_lsm_mor_clustering",
    "flink_v6_mor_cdc",
    "x_v8_mor_ix_secondary",
]


@cache
def bodies():
    """Files of timelines that Apache Hudi has written, by action and state; none is empty."""
    found: dict[tuple[Action, InstantState], list[bytes]] = {}
    for case in CASES:
        for path, body in files_of(case).items():
            folder, _, name = path.rpartition("/")
            try:
                instant = Instant.parse(name, 2 if folder.endswith("/timeline") else 1)
            except NotAnInstant:
                continue
            if body and ".schema" not in folder:
                found.setdefault((instant.action, instant.state), []).append(body)
    return found


def test_all_kinds_of_files_are_among_the_bodies():
    assert set(bodies()) >= set.union(*DECODED.values())
    assert {(Action.INDEXING, COMPLETED), (Action.CLEAN, REQUESTED)} <= set(bodies())


def test_every_function_that_parses_is_asked():
    names = {name for name in vars(instant_metadata) if name.startswith("parse_")}
    assert names == set(DECODED)


@pytest.mark.parametrize("name", DECODED)
def test_file_of_another_kind_is_refused(name):
    parse = getattr(instant_metadata, name)
    for kind, listed in bodies().items():
        for body in listed:
            if kind in DECODED[name]:
                parse(body, path="f")
            else:
                with pytest.raises(CorruptTimelineError, match="expected "):
                    parse(body, path="f")


@pytest.mark.parametrize("name", DECODED)
def test_json_of_something_else_is_refused(name):
    with pytest.raises(CorruptTimelineError, match=r"which has .*, found a record of a, b"):
        getattr(instant_metadata, name)(b'{"b": {}, "a": [1]}', path="f")
