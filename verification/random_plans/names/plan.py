"""A random plan: settings, lines of Python, and how its rows are fetched."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from verification.random_plans.names import sql
from verification.random_plans.names.frames import Programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Of each setting its value in most plans, and others with how often they are drawn.
_SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "spark.sql.codegen.wholeStage": ("false", {"true": 0.2}),
    "spark.sql.adaptive.enabled": ("false", {"true": 0.25}),
    "spark.sql.ansi.enabled": ("true", {"false": 0.2}),
    "spark.sql.caseSensitive": ("false", {"true": 0.12}),
    "spark.sql.session.timeZone": ("UTC", {"America/New_York": 0.08}),
    "spark.sql.autoBroadcastJoinThreshold": ("10485760", {"-1": 0.2}),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("10000", {"4": 0.25}),
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": ("true", {"false": 0.4}),
    "spark.hudi-py.optimizer.joins.leastBytes": ("1", {"8388608": 0.25}),
}
# Code that is made for each plan takes most of the time of small queries.
CODEGEN = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")


@dataclass(frozen=True)
class Plan:
    """A plan of a seed.

    Attributes:
        seed: that it was drawn by.
        lines: Python, after which ``d`` is a DataFrame; see `frames`. Parts that may be left out
            stand between the signs of `sql`.
        settings: of the session.
        fetch: how the rows are fetched, see `fetching`.
        features: what was drawn, and how often.
    """

    seed: int
    lines: tuple[str, ...]
    settings: Mapping[str, str]
    fetch: str = "collect"
    features: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def text(self) -> str:
        """The plan as a program."""
        changed = [
            f"spark.conf.set({name!r}, {value!r})"
            for name, value in self.settings.items()
            if name in _SETTINGS and value != _SETTINGS[name][0]
        ]
        return "\n".join([*changed, *map(sql.render, self.lines), f"# fetched by {self.fetch}"])

    @property
    def source(self) -> str:
        """The lines to execute."""
        return "\n".join(map(sql.render, self.lines))

    @property
    def is_cached(self) -> bool:
        """Whether rows are cached: sessions of one Spark share them, so they are asked in turn."""
        return ".cache()" in self.source or ".persist()" in self.source

    def shorter(self) -> Iterator[Plan]:
        """Yield plans with one part less."""
        if self.fetch != "collect":
            yield replace(self, fetch="collect")
        for number in reversed(range(len(self.lines))):
            line = self.lines[number]
            if line.startswith("d = d."):
                yield replace(self, lines=self.lines[:number] + self.lines[number + 1 :])
            for text in sql.shorter(line):
                yield replace(self, lines=(*self.lines[:number], text, *self.lines[number + 1 :]))
        for name, value in self.settings.items():
            if name in _SETTINGS and value != _SETTINGS[name][0]:
                yield replace(self, settings={**self.settings, name: _SETTINGS[name][0]})


def draw(seed: int) -> Plan:
    """Draw the plan of a seed; nothing else decides it."""
    dice = random.Random(f"names {seed}")
    if dice.random() < 0.55:
        queries = sql.SqlQueries(dice)
        query = queries.statement()
        lines = [f'd = spark.sql("""{query.text}""")']
        features = queries.features
        features["SQL"] += 1
        if dice.random() < 0.12:
            lines.append("d = d.cache()")
            features["frame cache"] += 1
        columns = query.scope.columns
    else:
        programs = Programs(dice)
        lines = programs.program()
        features = programs.features
        features["program"] += 1
        columns = programs.scope.columns
    fetches = {"collect": 70, "arrow": 8, "count": 4, "pandas": 3, "iterate": 2}
    names = [column.name.lower() for column in columns]
    if len(set(names)) == len(names):
        fetches |= {"write": 6, "table": 6}
        if len(names) <= 8:
            fetches |= {"insert": 5}
    fetch = dice.choices(list(fetches), list(fetches.values()))[0]
    features[f"fetch {fetch}"] += 1
    return Plan(seed, tuple(lines), _settings(dice, features), fetch, features)


def _settings(dice: random.Random, features: Counter[str]) -> dict[str, str]:
    found = {}
    for name, (usual, others) in _SETTINGS.items():
        found[name] = usual
        for value, often in others.items():
            if dice.random() < often:
                found[name] = value
        short = name.removeprefix("spark.").removeprefix("sql.")
        features[f"setting {short}={found[name]}"] += 1
    is_compiled = found["spark.sql.codegen.wholeStage"] == "true"
    found["spark.sql.codegen.factoryMode"] = "FALLBACK" if is_compiled else "NO_CODEGEN"
    return found
