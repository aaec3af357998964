from dataclasses import replace
from itertools import count

from verification.histories.history import Column, History, Step, StepKind
from verification.histories.shrink import shrink

COLUMNS = (Column("id", "int"), Column("c", "string"))
OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.clean.automatic": "true",
    "hoodie.metadata.enable": "true",
}


def _history() -> History:
    first = Step(StepKind.INSERT, COLUMNS, tuple((n, "x") for n in range(9)))
    others = (StepKind.UPSERT, StepKind.CLEAN, StepKind.COMPACT, StepKind.UPSERT)
    later = [replace(first, kind=kind) for kind in others]
    return History("h", "1.2.0", OPTIONS, (first, *later))


def _fails(history: History) -> bool:
    """A history in which key 7 is inserted, and that compacts with the metadata table."""
    keys = {row[0] for row in history.steps[0].rows}
    has_compaction = any(step.kind is StepKind.COMPACT for step in history.steps)
    return 7 in keys and has_compaction and "hoodie.metadata.enable" in history.options


def test_only_what_the_failure_needs_is_left() -> None:
    small = shrink(_history(), _fails, seconds=60)
    assert [step.kind for step in small.steps] == [StepKind.INSERT, StepKind.COMPACT]
    assert small.steps[0].rows == ((7,),)
    assert small.steps[0].columns == (Column("id", "int"),)
    assert "hoodie.clean.automatic" not in small.options
    assert "hoodie.metadata.enable" in small.options


def test_nothing_is_dropped_where_all_is_needed() -> None:
    history = _history()
    assert shrink(history, lambda smaller: smaller == history, seconds=60) == history


def test_no_attempt_begins_after_the_time_is_over() -> None:
    ticks = count()
    attempts: list[History] = []

    def fails(history: History) -> bool:
        attempts.append(history)
        return False

    shrink(_history(), fails, seconds=5, clock=lambda: next(ticks))
    assert 1 <= len(attempts) <= 5


def test_columns_that_a_statement_names_stay() -> None:
    history = _history()
    update = Step(StepKind.SQL, text="UPDATE {table} SET `c` = 'y'")
    history = history.with_steps((*history.steps, update))
    small = shrink(history, lambda h: h.steps[-1] == update, seconds=60)
    assert small.steps[0].columns == COLUMNS
