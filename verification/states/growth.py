"""A golden table that grows by its commits, and the state that rows belong to.

Apache Hudi's answers say what the rows of each state are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import Row, compare_rows
from tests.growing_table import GrowingTable, table_at
from verification.common.data import load_data

# By case and last instant the query that Apache Hudi answered as of it.
_STATES: dict[str, dict[str, str]] = load_data(__file__, "statements.toml")["tables"]
CASES = tuple(_STATES)
LAST = 3
# Their values tell the states apart.
COLUMNS = ("id", "_hoodie_commit_time", "ts")


@dataclass
class Growth:
    """A table at one of its states, 0 to `LAST`."""

    case: str
    folder: Path
    state: int = 0
    _table: GrowingTable = field(init=False)

    def __post_init__(self) -> None:
        self._table = table_at(self.case, self.instants[0], self.folder)
        answers = load_case(GOLDEN / self.case).queries
        by_name = {query.name: query for query in answers}
        self._rows = [
            _identities(by_name[name].expected_rows().select(COLUMNS).to_pylist())
            for name in _STATES[self.case].values()
        ]

    @property
    def path(self) -> str:
        """The base path."""
        return str(self._table.path)

    @property
    def instants(self) -> list[str]:
        """The last instant of each state."""
        return list(_STATES[self.case])

    def commit(self) -> None:
        """Bring the files up to the next state; none after the last."""
        if self.state < LAST:
            self.state += 1
            self._table.grow(self.instants[self.state])

    def create_again(self) -> None:
        """Delete the table, and create it at its first state."""
        shutil.rmtree(self.path)
        self._table = table_at(self.case, self.instants[0], self.folder)
        self.state = 0

    def state_of(self, rows: Iterable[Any]) -> int | str:
        """Return the state whose rows these are, by their `COLUMNS`, or what is wrong with them."""
        found = _identities(rows)
        for state, known in enumerate(self._rows):
            if not compare_rows(COLUMNS, known, found):
                return state
        latest = max((row[1] for row in found), default="none")
        return f"{len(found)} rows of no state: the latest is of {latest}"


def _identities(rows: Iterable[Any]) -> list[Row]:
    return [tuple(row[name] for name in COLUMNS) for row in rows]
