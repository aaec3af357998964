from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from verification.histories.ours import other_forms, read_arrow
from verification.histories.queries import Query, QueryKind

SNAPSHOT = Query(QueryKind.SNAPSHOT, {})


@pytest.fixture
def path(golden_table: Callable[[str], Path]) -> Path:
    return golden_table("v9_mor_compaction_inline")


def test_other_forms_follow_from_the_rows_of_the_whole_answer(path: Path) -> None:
    found = list(other_forms(path, SNAPSHOT, read_arrow(path, SNAPSHOT), Random(1), 99))
    assert len(found) > 10
    assert {problem for _, problem in found} == {""}
    assert {"batch_rows", "hoodie.memory.merge.max.size"} <= {k for q, _ in found for k in q.own}


def test_other_forms_find_a_row_that_the_whole_answer_lacks(path: Path) -> None:
    rows = read_arrow(path, SNAPSHOT)
    assert isinstance(rows, pa.Table)
    found = other_forms(path, SNAPSHOT, rows.slice(1), Random(1), 99)
    problems = [problem for _, problem in found]
    assert sum(problem != "" for problem in problems) > 10
    assert any(problem.startswith("count(): ") for problem in problems)
