from datetime import datetime

import pytest

from hudi_pyspark.format.timeline.instant import (
    Action,
    CompletionTime,
    Instant,
    InstantState,
    NotAnInstant,
    RequestedTime,
    moment_of,
)

REQUESTED, INFLIGHT, COMPLETED = InstantState
T = RequestedTime("20250316025816068")
C = CompletionTime("20250316025828811")


@pytest.mark.parametrize("layout", [0, 1, 2])
@pytest.mark.parametrize(
    ("suffix", "action", "state"),
    [
        ("commit.requested", "commit", REQUESTED),
        ("inflight", "commit", INFLIGHT),
        ("deltacommit.requested", "deltacommit", REQUESTED),
        ("deltacommit.inflight", "deltacommit", INFLIGHT),
        ("compaction.requested", "compaction", REQUESTED),
        ("compaction.inflight", "compaction", INFLIGHT),
        ("logcompaction.requested", "logcompaction", REQUESTED),
        ("logcompaction.inflight", "logcompaction", INFLIGHT),
        ("replacecommit.requested", "replacecommit", REQUESTED),
        ("replacecommit.inflight", "replacecommit", INFLIGHT),
        ("clean.requested", "clean", REQUESTED),
        ("clean.inflight", "clean", INFLIGHT),
        ("rollback.requested", "rollback", REQUESTED),
        ("rollback.inflight", "rollback", INFLIGHT),
        ("restore.requested", "restore", REQUESTED),
        ("restore.inflight", "restore", INFLIGHT),
        ("savepoint.inflight", "savepoint", INFLIGHT),
        ("indexing.requested", "indexing", REQUESTED),
        ("indexing.inflight", "indexing", INFLIGHT),
        ("schemacommit.requested", "schemacommit", REQUESTED),
        ("schemacommit.inflight", "schemacommit", INFLIGHT),
    ],
)
def test_pending_files_have_the_same_names_on_all_layouts(layout, suffix, action, state):
    instant = Instant.parse(f"{T}.{suffix}", layout)
    assert instant == Instant(T, action, state, None)
    assert instant.file_name(layout) == f"{T}.{suffix}"


PENDING_ONLY = {Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING}


@pytest.mark.parametrize("action", [a.value for a in Action if a not in PENDING_ONLY])
@pytest.mark.parametrize(
    ("layout", "time", "completion_time"),
    [(0, T, None), (1, T, None), (2, f"{T}_{C}", C), (2, T, None)],
    ids=["layout-0", "layout-1", "layout-2", "layout-2-legacy"],
)
def test_completed_files_carry_the_completion_time_on_layout_2(
    action, layout, time, completion_time
):
    instant = Instant.parse(f"{time}.{action}", layout)
    assert instant == Instant(T, action, COMPLETED, completion_time)
    assert instant.file_name(layout) == f"{time}.{action}"


@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_clustering_has_its_own_files_only_on_layout_2(state):
    name = f"{T}.clustering.{state}"
    assert Instant.parse(name, 2).file_name(2) == name
    with pytest.raises(NotAnInstant, match=name):
        Instant.parse(name, 1)
    assert Instant.parse(name, 2).file_name(1) == f"{T}.replacecommit.{state}"


@pytest.mark.parametrize(
    ("name", "layouts"),
    [
        (f"{T}.commit.crc", (0, 1, 2)),
        (f".{T}.commit.crc", (0, 1, 2)),
        (f"{T}.commit.tmp", (0, 1, 2)),
        (f"{T}.commit.requested.crc", (0, 1, 2)),
        (f"{T}.unknown", (0, 1, 2)),
        (f"{T}.commit.inflight", (0, 1, 2)),  # Hudi writes T.inflight
        (f"{T}.inflight.requested", (0, 1, 2)),
        (f"{T}.savepoint.requested", (0, 1, 2)),
        (f"{T}.compaction", (0, 1, 2)),
        (f"{T}.logcompaction", (0, 1, 2)),
        (f"{T}_{C}.clustering", (0, 1, 2)),
        (f"{T}_{C}.compaction", (0, 1, 2)),
        (f"{T}_{C}.commit.requested", (0, 1, 2)),
        (f"{T}_{C}.inflight", (0, 1, 2)),
        (f"{T}_{C}.commit", (0, 1)),
        (f"{T}_.commit", (0, 1, 2)),
        (f"{T}_{C}_{C}.commit", (0, 1, 2)),
        (T, (0, 1, 2)),
        (f"{T}.", (0, 1, 2)),
        (f"{T}.commit\n", (0, 1, 2)),
        (f"{T}.COMMIT", (0, 1, 2)),
        ("x.commit", (0, 1, 2)),
        (".commit", (0, 1, 2)),
        ("٢٠٢٥.commit", (0, 1, 2)),
        ("hoodie.properties", (0, 1, 2)),
        ("archived", (0, 1, 2)),
        ("", (0, 1, 2)),
    ],
)
def test_other_names_are_no_instants(name, layouts):
    for layout in layouts:
        with pytest.raises(NotAnInstant):
            Instant.parse(name, layout)


@pytest.mark.parametrize(
    ("action", "becomes"),
    [
        ("compaction", "commit"),
        ("logcompaction", "deltacommit"),
        ("clustering", "replacecommit"),
        ("commit", "commit"),
        ("clean", "clean"),
    ],
)
def test_pending_services_compare_as_what_they_become(action, becomes):
    assert Instant(T, action, REQUESTED).comparable_action == becomes
    assert Instant(T, action, COMPLETED, C).file_name(2) == f"{T}_{C}.{becomes}"


def test_layout_1_leaves_the_completion_time_out_of_the_name():
    assert Instant(T, Action.COMMIT, COMPLETED, C).file_name(1) == f"{T}.commit"


def test_requested_savepoint_has_no_file():
    with pytest.raises(ValueError, match="has no requested file"):
        Instant(T, Action.SAVEPOINT, REQUESTED).file_name(2)


def test_actions_are_hudis_words():
    parsed = Instant.parse(f"{T}.deltacommit", 1).action
    assert (parsed, f"{parsed}", {"deltacommit": 1}[parsed]) == ("deltacommit", "deltacommit", 1)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param(T, "2025-03-16T02:58:16.068", id="17-digits"),
        pytest.param("20250316025816", "2025-03-16T02:58:16.999", id="14-digits-end-their-second"),
    ],
)
def test_instant_is_a_moment_without_time_zone(text, moment):
    assert moment_of(text) == datetime.fromisoformat(moment)  # naive


@pytest.mark.parametrize(
    "text",
    ["", "001", "2025031602581606", f"{T}001", "2025-03-16", "00000000000000010", "20251316025816",
     "٢٠٢٥٠٣١٦٠٢٥٨١٦"],
)  # fmt: skip
def test_text_that_is_not_a_moment_has_none(text):
    assert moment_of(text) is None
