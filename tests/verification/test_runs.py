"""The frame of all harnesses: what it counts, prints and returns, and a child process that ends."""

import builtins

import pytest

from verification.common.runs import Outcome, Run, ask_in_children, parser_of, seeds_of


def wrong(text, kind="cuts"):
    return Outcome(kind, "other rows", "a row", text, is_finding=True)


def test_outcomes_are_a_table_by_kind_and_verdict():
    run = Run(("the same rows",))
    for outcome in (
        wrong("b"),
        Outcome("flips", "the same rows", count=1_200),
        Outcome("cuts", "an error", "KeyError"),
    ):
        run.add(outcome)
    run.notes["files left out"] += 7
    assert list(run.lines()) == [
        "| | the same rows | other rows | an error |",
        "|---|---|---|---|",
        "| cuts | 0 | 1 | 1 |",
        "| flips | 1,200 | 0 | 0 |",
        "",
        "           7 files left out",
        "           1 other rows: a row",
        "           1 an error: KeyError",
        "       1,202 in all, 1 findings",
    ]


def test_first_findings_of_a_kind_are_printed_and_all_are_kept(capsys):
    run = Run()
    for outcome in (*map(wrong, "abcdef"), wrong("g", kind="flips")):
        run.add(outcome)
    said = capsys.readouterr().out.splitlines()
    assert said == [
        *(f"FINDING cuts: other rows: a row: {text}" for text in "abc"),
        "FINDING flips: other rows: a row: g",
    ]
    assert "".join(finding.text for finding in run.findings) == "abcdefg"


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [((), 1), ((Outcome("cuts", "the same rows"),), 0), ((wrong("a"),), 1)],
    ids=["nothing-asked", "good", "finding"],
)
def test_status_is_one_for_a_finding_or_if_nothing_was_asked(outcomes, status):
    run = Run()
    for outcome in outcomes:
        run.add(outcome)
    assert run.finish() == status


def test_question_with_which_a_process_ends_is_one_outcome_among_the_others():
    questions = ["1", "2", "__import__('os')._exit(3)", "4"]
    found = ask_in_children(builtins.eval, questions, str.upper)
    assert list(found) == [1, 2, questions[2].upper(), 4]


def test_options_have_the_defaults_of_the_harness(monkeypatch):
    monkeypatch.setattr("sys.argv", ["harness", "--seed", "7"])
    given = parser_of("Ask.", seed=1, count=3).parse_args()
    assert list(seeds_of(given)) == [7, 8, 9]
