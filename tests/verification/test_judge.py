"""The judge of live reads, with made-up journals and reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from verification.live_writer.__main__ import report, written
from verification.live_writer.judge import BARE, REFUSED, RIGHT, WRONG, Truth, judge
from verification.live_writer.records import Journal, Kind, Read, Service, Write
from verification.live_writer.rows import row_of

if TYPE_CHECKING:
    from pathlib import Path

# Seconds 10, 20, 30 and 40 of 1970; b's third batch was never committed.
A1 = Write("a", 1, 5.0, 10.2, ("a-000", "a-001"), (), "19700101000005000", "19700101000010000")
B2 = Write("b", 2, 6.0, 20.2, ("b-000",), (), "19700101000006000", "19700101000020000")
A2 = Write("a", 2, 21.0, 30.2, ("a-001",), (), "19700101000021000", "19700101000030000")
B3 = Write("b", 3, 22.0, 31.0, ("b-000",), (), "", "", "conflict")
A3 = Write("a", 3, 31.0, 40.2, (), ("a-000",), "19700101000031000", "19700101000040000")
WRITES = (A1, B2, A2, B3, A3)
NOTHING_TAKEN_AWAY = Truth.of(WRITES, ())
A2_ROLLED_BACK = Truth.of((A1, B2, A2), [Service("rollback", 32.0, 35.0, A2.requested)])

FIRST_ROWS = (row_of("a-000", 1), row_of("a-001", 1), row_of("b-000", 2))
SECOND_ROWS = (row_of("a-000", 1), row_of("a-001", 2), row_of("b-000", 2))


def snapshot(begun: float, opened: float, *rows: tuple[object, ...], **more: object) -> Read:
    read = Read(Kind.SNAPSHOT, "snapshots", {}, begun, opened, opened + 9, rows)
    return replace(read, **more)  # type: ignore[arg-type]


def stream(begin: str, end: str, *rows: tuple[object, ...], **more: object) -> Read:
    return snapshot(50.0, 51.0, *rows, kind=Kind.STREAM, begin=begin, end=end, **more)


def verdicts(truth: Truth, *reads: Read) -> list[str]:
    return [judged.verdict for judged in judge(reads, truth)]


@pytest.mark.parametrize(
    ("read", "verdict"),
    [
        pytest.param(snapshot(21, 22, *FIRST_ROWS), RIGHT, id="state-at-its-beginning"),
        pytest.param(snapshot(32, 33, *SECOND_ROWS), RIGHT, id="the-next-state"),
        pytest.param(snapshot(29, 31, *FIRST_ROWS), RIGHT, id="before-a-commit-beside-it"),
        pytest.param(snapshot(29, 31, *SECOND_ROWS), RIGHT, id="after-a-commit-beside-it"),
        pytest.param(snapshot(32, 33, *FIRST_ROWS), WRONG, id="a-commit-before-it-lacks"),
        pytest.param(snapshot(21, 22, *SECOND_ROWS), WRONG, id="a-commit-after-it"),
        pytest.param(snapshot(32, 33, *SECOND_ROWS[:2]), WRONG, id="a-row-lacks"),
        pytest.param(snapshot(32, 33, *SECOND_ROWS, SECOND_ROWS[0]), WRONG, id="a-row-twice"),
        pytest.param(snapshot(50, 51, *SECOND_ROWS), WRONG, id="a-deleted-row"),
        pytest.param(snapshot(50, 51, *SECOND_ROWS[1:]), RIGHT, id="without-deleted-row"),
        pytest.param(snapshot(1, 2), RIGHT, id="before-the-first-commit"),
        pytest.param(
            snapshot(9, 21, *SECOND_ROWS[:1], row_of("b-000", 2)), WRONG, id="mixed-states"
        ),
        pytest.param(snapshot(9, 21, row_of("b-000", 2)), WRONG, id="later-commit-without-earlier"),
        pytest.param(
            snapshot(21, 22, *FIRST_ROWS[:2], (*FIRST_ROWS[2][:2], "other", "b0")),
            WRONG,
            id="another-value",
        ),
        pytest.param(
            snapshot(50, 51, *FIRST_ROWS, kind=Kind.AS_OF, as_of=B2.requested),
            RIGHT,
            id="as-of",
        ),
        pytest.param(
            snapshot(50, 51, *SECOND_ROWS, kind=Kind.AS_OF, as_of=B2.requested),
            WRONG,
            id="as-of-with-later-rows",
        ),
        pytest.param(
            snapshot(32, 33, (2, "a-001"), (1, "a-000"), (2, "b-000"), kind=Kind.PROJECTION),
            RIGHT,
            id="two-columns",
        ),
        pytest.param(
            snapshot(32, 33, *SECOND_ROWS[1:], options={"filter": "batch > 1"}),
            RIGHT,
            id="filtered",
        ),
        pytest.param(
            snapshot(32, 33, *SECOND_ROWS, options={"filter": "batch > 1"}),
            WRONG,
            id="not-filtered",
        ),
        pytest.param(snapshot(9, 21, error="MissingFileError"), REFUSED, id="overtaken"),
        pytest.param(snapshot(9, 21, error="FileNotFoundError"), BARE, id="bare-error"),
        pytest.param(snapshot(9, 21, error="CorruptLogBlockError"), BARE, id="misnamed"),
    ],
)
def test_snapshot(read: Read, verdict: str) -> None:
    assert verdicts(NOTHING_TAKEN_AWAY, read) == [verdict]


@pytest.mark.parametrize(
    ("begun", "with_it", "without_it"),
    [
        pytest.param(31, RIGHT, WRONG, id="before-the-rollback"),
        pytest.param(33, RIGHT, RIGHT, id="beside-the-rollback"),
        pytest.param(36, WRONG, RIGHT, id="after-the-rollback"),
    ],
)
def test_commit_that_is_rolled_back(begun: float, with_it: str, without_it: str) -> None:
    reads = [snapshot(begun, begun + 0.5, *rows) for rows in (SECOND_ROWS, FIRST_ROWS)]
    assert verdicts(A2_ROLLED_BACK, *reads) == [with_it, without_it]


def test_stream_that_reads_each_commit_once() -> None:
    first = stream("0", B2.completion, *FIRST_ROWS, is_first=True)
    second = stream(B2.completion, A3.completion, row_of("a-001", 2))
    again = replace(second, is_repeated=True)
    assert verdicts(NOTHING_TAKEN_AWAY, first, second, again) == [RIGHT] * 3


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(stream(A2.completion, A3.completion), id="begins-later"),
        pytest.param(stream(A1.completion, A3.completion, *SECOND_ROWS[1:]), id="begins-earlier"),
        pytest.param(stream(B2.completion, A3.completion), id="misses-a-commit"),
        pytest.param(stream(B2.completion, A3.completion, *SECOND_ROWS[1:]), id="repeats-a-commit"),
    ],
)
def test_stream_that_misses_or_repeats(second: Read) -> None:
    first = stream("0", B2.completion, *FIRST_ROWS, is_first=True)
    assert verdicts(NOTHING_TAKEN_AWAY, first, second) == [RIGHT, WRONG]


def test_stream_begins_anew_where_its_commits_are_gone() -> None:
    refused = stream("0", A1.completion, is_first=True, error="IncrementalRangeError")
    first = stream(A1.completion, B2.completion, row_of("b-000", 2), is_first=True)
    assert verdicts(NOTHING_TAKEN_AWAY, refused, first) == [REFUSED, RIGHT]


def test_full_scan_has_only_the_latest_rows_of_its_range() -> None:
    """Commit A1 wrote a-001, which is of A2 now, and a-000, which A3 deleted."""
    rows = (row_of("b-000", 2),)
    scan = snapshot(50, 51, *rows, kind=Kind.LATEST_OF_RANGE, begin="0", end=B2.completion)
    assert verdicts(NOTHING_TAKEN_AWAY, scan) == [WRONG]
    assert verdicts(NOTHING_TAKEN_AWAY, replace(scan, is_warned=True)) == [RIGHT]


def test_journal_and_reads_return_what_was_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    service = Service("clean", 1.0, 2.0, problem="none")
    for entry in (*WRITES, service):
        journal.append(entry)
    read = snapshot(21, 22, *FIRST_ROWS)
    journal.append(read)
    assert list(journal.load()) == [*WRITES, service, read]
    assert journal.all(Write) == list(WRITES)
    assert journal.all(Service) == [service]
    assert journal.all(Read) == [read]


def test_writes_and_services_are_counted_by_kind() -> None:
    services = [Service("clean", 1.0, 2.0), Service("rollback", 1.0, 2.0, problem="x")]
    lines = list(written(WRITES, services).lines())
    assert lines[0] == "| | done | refused by Apache Hudi |"
    assert "| upserts | 3 | 1 |" in lines
    assert "| clean | 1 | 0 |" in lines
    assert "| rollback | 0 | 1 |" in lines


@pytest.mark.parametrize(
    ("last", "status", "line"),
    [
        (snapshot(9, 21, error="MissingFileError"), 0, "| snapshot | 1 | 1 | 0 | 0 |"),
        (snapshot(9, 21, error="KeyError", message="no"), 1, "| snapshot | 1 | 0 | 1 | 0 |"),
    ],
)
def test_report_counts_verdicts_and_keeps_findings(
    last: Read, status: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for entry in WRITES:
        Journal(tmp_path / "journal.jsonl").append(entry)
    for read in (snapshot(21, 22, *FIRST_ROWS), last):
        Journal.of_reader(tmp_path, "snapshots").append(read)
    assert report(tmp_path) == status
    said = capsys.readouterr().out
    assert line in said.splitlines()
    assert f": {last.error}" in said
    assert len(list((tmp_path / "findings").iterdir())) == status
