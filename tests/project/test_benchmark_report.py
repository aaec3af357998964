"""The report of the benchmarks: medians, ratios, disagreements, and what it looks like."""

from operator import attrgetter

import pytest

from benchmarks.report import (
    FIRST,
    Measured,
    Run,
    TableResult,
    agree,
    disagreements,
    markdown,
    memory_table,
    ratio,
    seconds_table,
)

ENGINES = {"hudi-jvm": "Hudi", "hudi-py-spark": "Ours", "pyarrow": "Floor"}
FACTS = {"rows": 1000, "base_files": 2, "base_bytes": 3e6, "log_files": 4, "log_bytes": 5e6}


def measured(engine, seconds, answer=None, query="count", **more):
    return Measured(engine, query, query, seconds=seconds, answer=answer or {}, **more)


def table_of(*found):
    return TableResult("a", "small", FACTS, found, ("pyarrow",))


def run_of(*found):
    machine = {"cores": 2, "memory_gb": 24.6, "system": "Linux x", "versions": {"pyspark": "4.3"}}
    settings = {"scale": 0.5, "rounds": 3, "command": "python -m benchmarks.run"}
    return Run(machine, settings, ENGINES, (table_of(*found),), {"hudi-rs": "not installed"})


@pytest.mark.parametrize(
    ("seconds", "median"),
    [((), None), ((2.0,), 2.0), ((9.0, 1.0, 2.0), 2.0), ((1.0, 2.0), 1.5)],
)
def test_median_of_the_rounds(seconds, median):
    assert measured("hudi-jvm", seconds).median == median


@pytest.mark.parametrize(
    ("slower", "faster", "times"),
    [(6.0, 1.5, 4.0), (1.0, 2.0, 0.5), (None, 1.5, None), (6.0, None, None)],
)
def test_ratio_says_how_many_times_faster_the_second_is(slower, faster, times):
    assert ratio(slower, faster) == times


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"rows": 3}, {"rows": 3}, True),
        ({"rows": 3}, {"rows": 4}, False),
        ({"rows": 3}, {}, False),
        ({"sum": 0.1 + 0.2}, {"sum": 0.3}, True),
        ({"sum": 0.3}, {"sum": 0.300001}, False),
        ({"berlin/1": [2, 0.1 + 0.2]}, {"berlin/1": [2, 0.3]}, True),
        ({"berlin/1": [2, 0.3]}, {"berlin/1": [3, 0.3]}, False),
    ],
)
def test_answers_agree_but_for_the_last_digits_of_floats(one, other, is_same):
    assert agree(one, other) is is_same


def test_different_answer_is_marked_in_the_table_and_explained_below_it():
    ours = measured("hudi-py-spark", (1.0,), {"rows": 9})
    shown = markdown(run_of(measured("hudi-jvm", (2.0,), {"rows": 10}), ours))
    assert "| count | 2.00 | 1.00 **(!)** | - | 2.0x |" in shown
    assert "**(!)** Ours, count: ANOTHER ANSWER: rows: 10 and 9 (hudi-jvm is the first)" in shown


def test_base_files_alone_may_answer_otherwise_unless_they_are_what_was_asked_for():
    def both(query):
        return table_of(
            measured("hudi-jvm", (1.0,), {"rows": 10}, query),
            measured("pyarrow", (1.0,), {"rows": 11}, query),
        )

    assert disagreements(both("count"), ENGINES) == {}
    assert list(disagreements(both("read_optimized"), ENGINES)) == [("pyarrow", "read_optimized")]


def test_failure_has_no_time_and_shows_its_reason():
    failed = measured("hudi-py-spark", (), error="ValueError: broken")
    shown = markdown(run_of(measured("hudi-jvm", (2.0,)), failed))
    assert "| count | 2.00 | failed | - | - |" in shown
    assert "- Ours, count: ValueError: broken" in shown


def test_long_times_have_no_decimals():
    table = table_of(measured("hudi-jvm", (123.4,)))
    assert "| count | 123 |" in seconds_table(table, ENGINES, attrgetter("median"))


def test_processor_time_has_a_table_of_its_own():
    ours = measured("hudi-py-spark", (9.0,), cpu_seconds=(3.0, 4.0))
    shown = markdown(run_of(measured("hudi-jvm", (9.0,), cpu_seconds=(7.0,)), ours))
    assert "| count | 7.00 | 3.50 | - | 2.0x |" in shown


def test_memory_is_that_of_the_first_query():
    first = measured("hudi-py-spark", (1.0,), query=FIRST, driver=5e8, workers=2e8, total=6e8)
    later = measured("hudi-jvm", (1.0,), driver=9e9, total=9e9)
    shown = memory_table(table_of(first, later), ENGINES).splitlines()
    assert shown[2:] == ["| Ours | 500 | 200 | 600 |"]


def test_report_names_machine_command_sizes_and_what_is_missing():
    shown = markdown(run_of(measured("hudi-jvm", (2.0,))))
    assert "2 cores, 25 GB, Linux x; pyspark 4.3. Scale 0.5, medians in seconds" in shown
    assert "Command: `python -m benchmarks.run`." in shown
    assert "1,000 rows; 2 base files, 3 MB; 4 log files, 5 MB." in shown
    assert shown.endswith("Not measured: hudi-rs: not installed\n")


def test_run_survives_its_json():
    run = run_of(measured("hudi-jvm", (2.0, 3.0), {"rows": 1}, start_seconds=(4.0,)))
    assert Run.parse(run.to_json()) == run
