import pyarrow as pa

from hudi_pyspark.plot.charts import timeline_picture

INSTANTS = pa.schema(
    [
        ("requested_time", pa.string()),
        ("completion_time", pa.string()),
        ("action", pa.string()),
        ("state", pa.string()),
        ("archived", pa.bool_()),
    ]
)
COMMITS = pa.schema(
    [("requested_time", pa.string()), ("operation", pa.string()), ("written_bytes", pa.int64())]
)


def instant(time, completed=None, action="deltacommit", state="completed", *, archived=False):
    row = (time, completed, action, state, archived)
    return dict(zip(INSTANTS.names, row, strict=True))


def draw(*instants, commits=()):
    return timeline_picture(
        "trips",
        pa.Table.from_pylist(list(instants), schema=INSTANTS),
        pa.Table.from_pylist(list(commits), schema=COMMITS),
    ).spec


def marks(spec):
    return spec["data"]["values"]


def facts(spec):
    return spec["title"]["subtitle"]


def test_mark_spans_from_request_to_completion():
    (mark,) = marks(draw(instant("20260301080000250", "20260301080001750")))
    assert mark["start"] == 1_772_352_000_250  # 2026-03-01T08:00:00.250Z
    assert (mark["end"] - mark["start"], mark["seconds"]) == (1500, 1.5)


def test_duration_of_nothing_is_a_millisecond_since_the_scale_has_no_zero():
    (mark,) = marks(draw(instant("20260301080000000", "20260301080000000")))
    assert mark["seconds"] == 0.001


def test_table_services_have_lanes_of_their_own():
    times = [f"2026030108000{n}000" for n in range(5)]
    operations = ["UPSERT", "COMPACT", "CLUSTER", "LOG_COMPACT"]
    actions = ["deltacommit", "commit", "replacecommit", "deltacommit"]
    commits = [
        {"requested_time": t, "operation": o, "written_bytes": 7}
        for t, o in zip(times, operations, strict=False)
    ]
    instants = [instant(t, t, a) for t, a in zip(times, actions, strict=False)]
    pending = instant(times[4], action="logcompaction", state="inflight")
    spec = draw(*instants, pending, commits=commits)
    lanes = ["deltacommit", "compaction", "clustering", "log compaction", "log compaction"]
    assert [m["lane"] for m in marks(spec)] == lanes
    assert spec["vconcat"][0]["encoding"]["y"]["sort"] == lanes[:4]


def test_states_have_their_own_colours_and_only_drawn_ones_are_in_the_legend():
    spec = draw(
        instant("20260301080000000", "20260301080001000", archived=True),
        instant("20260301080002000", "20260301080003000"),
        instant("20260301080004000", action="compaction", state="requested"),
    )
    assert [m["state"] for m in marks(spec)] == ["archived", "completed", "requested"]
    scale = spec["vconcat"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["completed", "archived", "requested"]
    assert len(scale["range"]) == 3
    assert facts(spec)[0] == "3 instants: 1 completed, 1 archived, 1 requested"


def test_facts_name_the_span_and_the_longest():
    spec = draw(
        instant("20260301080000000", "20260301080001000"),
        instant("20260302090000000", "20260302090130500", "clean"),
        instant("20260303100000000", state="inflight"),
    )
    assert facts(spec)[1:] == [
        "from 2026-03-01 08:00:00 to 2026-03-03 10:00:00",
        "the longest took 90.5 s: clean 20260302090000000",
    ]


def test_timeline_without_completion_times_has_no_durations():
    spec = draw(instant("20260301080000"), instant("20260301090000"))
    assert len(spec["vconcat"]) == 1
    assert facts(spec)[2] == "durations are unknown: the timeline has no completion times"


def test_instant_that_is_no_clock_time_is_named_instead_of_drawn():
    spec = draw(instant("00000000000001", action="commit"), instant("20260301090000000"))
    assert [m["instant"] for m in marks(spec)] == ["20260301090000000"]
    assert facts(spec)[-1] == "not shown, since they are not times: 00000000000001"


def test_table_without_instants_says_so():
    assert facts(draw()) == ["no instant yet"]


def ticks(*milliseconds):
    start = "20260301080000000"
    ends = [
        f"202603010{8 + ms // 3_600_000}{ms // 60_000 % 60:02}{ms % 60_000:05}"
        for ms in milliseconds
    ]
    spec = draw(*(instant(start, end) for end in ends))
    return spec["vconcat"][1]["encoding"]["y"]["axis"]["values"]


def test_scale_of_durations_encloses_them():
    assert ticks(400, 1500) == [0.2, 0.5, 1, 2]
    assert ticks(1000) == [0.5, 1, 2]
    assert ticks(30, 3_000_000) == [0.01, 0.1, 1, 10, 100, 1000, 10_000]


def test_crowd_is_drawn_with_slim_marks():
    few = draw(*(instant(f"20260301080{n:03}000"[:17]) for n in range(5)))
    many = draw(*(instant(f"2026030108{n // 60:02}{n % 60:02}000") for n in range(500)))
    thickness = [s["vconcat"][0]["layer"][1]["mark"]["thickness"] for s in (few, many)]
    assert thickness[0] > thickness[1]
    assert len(marks(many)) == 500
