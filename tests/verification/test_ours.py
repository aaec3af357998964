from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from verification.histories.ours import answers_of_one_table, other_forms, read_arrow
from verification.histories.queries import Query, QueryKind, incremental

SNAPSHOT = Query(QueryKind.SNAPSHOT, {})


@pytest.fixture
def path(golden_table: Callable[[str], Path]) -> Path:
    return golden_table("v9_mor_compaction_inline")


def test_other_forms_follow_from_the_rows_of_the_whole_answer(path: Path) -> None:
    found = list(other_forms(path, SNAPSHOT, read_arrow(path, SNAPSHOT), Random(1), 99))
    assert len(found) > 10
    assert {check.problem for check in found} == {""}
    assert {"batch_rows", "hoodie.memory.merge.max.size"} <= {
        key for check in found for key in check.query.own
    }


def test_other_forms_find_a_row_that_the_whole_answer_lacks(path: Path) -> None:
    rows = read_arrow(path, SNAPSHOT)
    assert isinstance(rows, pa.Table)
    found = other_forms(path, SNAPSHOT, rows.slice(1), Random(1), 99)
    problems = [check.problem for check in found]
    assert sum(problem != "" for problem in problems) > 10
    assert any(problem.startswith("count(): ") for problem in problems)


def test_one_table_object_answers_as_fresh_ones_do(path: Path) -> None:
    queries = [SNAPSHOT, incremental("000"), SNAPSHOT.with_filter("_hoodie_record_key = 'k1'")]
    found = list(answers_of_one_table(path, queries, Random(1)))
    assert len(found) == 6
    assert {check.problem for check in found} == {""}


def test_an_answer_that_depends_on_earlier_queries_is_found(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = HudiTable.scan
    asked = list[HudiTable]()

    def forgets_rows(self: HudiTable, *columns: Any, **options: Any) -> Any:
        is_first = not any(table is self for table in asked)
        asked.append(self)
        return scan(self, *columns, **{**options, "limit": None if is_first else 1})

    monkeypatch.setattr(HudiTable, "scan", forgets_rows)
    checks = answers_of_one_table(path, [SNAPSHOT], Random(1))
    problems = [check.problem for check in checks]
    assert problems[0] == ""
    assert "rows missing" in problems[1]
