"""A golden table, and random conditions on its columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from pyspark.sql import Column
    from pyspark.sql.types import DataType


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: of the golden case, and of its views.
        path: of the table.
        copy: folder of Parquet files with its rows.
        types: of its columns.
        rows: some of its rows.
    """

    name: str
    path: str
    copy: str
    types: Mapping[str, DataType]
    rows: list[Any]

    @property
    def key(self) -> str:
        """A column of the record key."""
        return "id" if "id" in self.types else "a"

    def of(self, *kinds: type[DataType]) -> list[str]:
        """Return the columns of some types."""
        return [name for name, kind in self.types.items() if isinstance(kind, kinds)]

    def values(self, dice: random.Random, name: str) -> list[Any]:
        """Return a few values of a column, of different rows."""
        found = {row[name] for row in self.rows if name in self.types} - {None}
        return dice.sample(sorted(found), min(2, len(found))) or ["none"]

    def condition(self, dice: random.Random, names: list[str] | None = None) -> tuple[str, Column]:
        """Return a condition, as text and as a column.

        Args:
            dice: choose it.
            names: of the columns that are there; sometimes another one is compared.
        """
        simple = [
            name
            for name in self.types
            if any(_literal(row[name]) for row in self.rows) and (names is None or name in names)
        ] or [self.key]
        if dice.random() < 0.03:
            simple = list(self.types)
        text, column = self._comparison(dice, dice.choice(simple))
        if dice.random() < 0.4:
            other_text, other = self._comparison(dice, dice.choice(simple))
            if dice.random() < 0.5:
                return f"{text} AND {other_text}", column & other
            return f"({text}) OR NOT ({other_text})", column | ~other
        return text, column

    def _comparison(self, dice: random.Random, name: str) -> tuple[str, Column]:
        values = [row[name] for row in self.rows if _literal(row[name])]
        written = dice.choice([name, name.upper(), f"`{name}`"])
        if not values or dice.random() < 0.15:
            return f"{written} IS NOT NULL", sf.col(name).isNotNull()
        value = dice.choice(values)
        if dice.random() < 0.08:
            value = dice.choice([5, 2.5, "5", "k0005", True, None])  # may not fit the column
        if value is None or dice.random() < 0.2:
            listed = [v for v in (value, dice.choice(values)) if v is not None]
            text = ", ".join(str(_literal(v)) for v in listed)
            return f"{written} IN ({text})", sf.col(name).isin(*listed)
        if isinstance(value, str) and dice.random() < 0.3:
            return f"{written} LIKE '{value[:2]}%'", sf.col(name).like(f"{value[:2]}%")
        sign = dice.choice(["=", "<", "<=", ">", ">=", "<>"])
        column = sf.col(name)
        made = {
            "=": column == value, "<": column < value, "<=": column <= value,
            ">": column > value, ">=": column >= value, "<>": column != value,
        }  # fmt: skip
        return f"{written} {sign} {_literal(value)}", made[sign]


def _literal(value: Any) -> str | None:
    """Return a value in SQL; None for a type that the conditions do not have."""
    texts: list[tuple[Any, Any]] = [
        (bool, str(value).lower()),
        (int | Decimal, str(value)),
        (float, repr(value) if "e" not in (text := repr(value)) and "n" not in text else None),
        (datetime, f"TIMESTAMP '{value}'"),
        (date, f"DATE '{value}'"),
        (str, f"'{value}'" if not set(str(value)) & set("'\\\n") else None),
    ]
    return next((text for kind, text in texts if isinstance(value, kind)), None)
