"""A random plan: settings, lines of Python, and how its rows are fetched."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from verification.random_plans.parts import render, shorter
from verification.random_plans.programs import Programs
from verification.random_plans.queries import Queries
from verification.random_plans.tables import load
from verification.random_plans.texts import text_of

# Of each setting its value in most plans, and others with how often they are drawn.
_SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "spark.sql.codegen.wholeStage": ("false", {"true": 0.2}),
    "spark.sql.adaptive.enabled": ("false", {"true": 0.25}),
    "spark.sql.ansi.enabled": ("true", {"false": 0.3}),
    "spark.sql.caseSensitive": ("false", {"true": 0.12}),
    "spark.sql.session.timeZone": (
        "UTC",
        {"America/New_York": 0.1, "Asia/Kolkata": 0.1, "Australia/Lord_Howe": 0.1},
    ),
    "spark.sql.autoBroadcastJoinThreshold": ("10485760", {"-1": 0.2}),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("10000", {"4": 0.25}),
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": ("true", {"false": 0.4}),
    "spark.hudi-py.optimizer.joins.leastBytes": ("1", {"8388608": 0.25}),
}
_CASE = "spark.sql.caseSensitive"
# How often rows are fetched in each way; the names of a file's columns must be different.
_FETCHES = {"collect": 60, "arrow": 8, "count": 4, "pandas": 3, "iterate": 2}
_WRITES = {"save": 6, "ctas": 6, "insert": 5}


@dataclass(frozen=True)
class Plan:
    """A plan of a seed.

    Attributes:
        seed: that it was drawn by.
        lines: Python, after which ``d`` is a DataFrame; see `programs`. Parts that may be left out
            stand between the signs of `parts`.
        settings: of the session.
        fetch: how the rows are fetched, see `sides`.
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
        return "\n".join([*changed, self.source, f"# fetched by {self.fetch}"])

    @property
    def source(self) -> str:
        """The lines to execute."""
        return "\n".join(map(render, self.lines))

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
            for text in shorter(line):
                yield replace(self, lines=(*self.lines[:number], text, *self.lines[number + 1 :]))
        for name, value in self.settings.items():
            if name in _SETTINGS and value != _SETTINGS[name][0]:
                yield replace(self, settings={**self.settings, name: _SETTINGS[name][0]})


def draw(seed: int, family: str = "names") -> Plan:
    """Draw the plan of a seed over a family of tables; nothing else decides it."""
    dice = random.Random(f"{family} {seed}")
    tables = load(family)
    features: Counter[str] = Counter()
    settings = _settings(dice, features)
    ignores_case = settings[_CASE] == "false"
    way = dice.random()
    if way < 0.55:
        queries = Queries(dice, tables, ignores_case=ignores_case)
        if way < 0.2:
            lines = [f"d = spark.sql({text_of(queries)!r})"]
            names: list[str] = []
        else:
            query = queries.statement()
            lines = [f"d = spark.sql({query.sql!r})"]
            names = [column.name.lower() for column in query.scope.columns]
        features += queries.features
        features["SQL"] += 1
        if dice.random() < 0.12:
            lines.append("d = d.cache()")
            features["SQL cache"] += 1
    else:
        programs = Programs(dice, tables, ignores_case=ignores_case)
        lines = programs.program()
        names = [column.name.lower() for column in programs.scope.columns]
        features += Counter({f"frame: {name}": n for name, n in programs.features.items()})
        features["program"] += 1
    fetches = _FETCHES | {"digest": tables.digests}
    if names and len(set(names)) == len(names) <= 8:
        fetches |= _WRITES
    fetch = dice.choices(list(fetches), list(fetches.values()))[0]
    features[f"fetch {fetch}"] += 1
    return Plan(seed, tuple(lines), settings, fetch, features)


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
