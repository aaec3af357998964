import pyarrow as pa

from hudi_pyspark.report.facts import timeline_marks

INSTANTS = pa.schema(
    [
        ("requested_time", pa.string()),
        ("completion_time", pa.string()),
        ("action", pa.string()),
        ("state", pa.string()),
        ("archived", pa.bool_()),
    ]
)


def instant(time, completed=None, action="deltacommit", state="completed", *, archived=False):
    row = (time, completed, action, state, archived)
    return dict(zip(INSTANTS.names, row, strict=True))


def marks(*instants, commits=()):
    table = pa.Table.from_pylist(list(instants), schema=INSTANTS)
    return list(timeline_marks(table, list(commits)))


def test_mark_spans_from_request_to_completion():
    (mark,) = marks(instant("20260301080000250", "20260301080001750"))
    assert mark["start"] == 1_772_352_000_250  # 2026-03-01T08:00:00.250Z
    assert (mark["end"] - mark["start"], mark["seconds"]) == (1500, 1.5)


def test_duration_of_nothing_is_a_millisecond_since_the_scale_has_no_zero():
    (mark,) = marks(instant("20260301080000000", "20260301080000000"))
    assert mark["seconds"] == 0.001


def test_table_services_have_lanes_apart_from_the_actions_of_writes():
    times = [f"2026030108000{n}000" for n in range(5)]
    operations = ["UPSERT", "COMPACT", "CLUSTER", "LOG_COMPACT"]
    actions = ["deltacommit", "commit", "replacecommit", "deltacommit"]
    commits = [
        {"requested_time": t, "operation": o, "written_bytes": 7}
        for t, o in zip(times, operations, strict=False)
    ]
    instants = [instant(t, t, a) for t, a in zip(times, actions, strict=False)]
    pending = instant(times[4], action="logcompaction", state="inflight")
    lanes = ["deltacommit", "compaction", "clustering", "log compaction", "log compaction"]
    assert [m["lane"] for m in marks(*instants, pending, commits=commits)] == lanes


def test_states_are_those_of_the_timeline_and_archived():
    drawn = marks(
        instant("20260301080000000", "20260301080001000", archived=True),
        instant("20260301080002000", "20260301080003000"),
        instant("20260301080004000", action="compaction", state="requested"),
    )
    assert [m["state"] for m in drawn] == ["archived", "completed", "requested"]


def test_instant_that_is_not_a_time_has_no_mark():
    drawn = marks(instant("00000000000001", action="commit"), instant("20260301090000000"))
    assert [m["instant"] for m in drawn] == ["20260301090000000"]
