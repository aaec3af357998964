"""A random plan: settings, lines of Python, and how its rows are fetched."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from verification.common.data import load_data
from verification.random_plans.parts import render, shorter
from verification.random_plans.programs import Programs
from verification.random_plans.queries import Queries
from verification.random_plans.tables import load
from verification.random_plans.texts import text_of

_GRAMMAR = load_data(__file__, "grammar.toml")
_SETTINGS = _GRAMMAR["settings"]
_CASE = "spark.sql.caseSensitive"


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
            if name in _SETTINGS and value != _SETTINGS[name]["usual"]
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
            if name in _SETTINGS and value != _SETTINGS[name]["usual"]:
                yield replace(self, settings={**self.settings, name: _SETTINGS[name]["usual"]})


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
        names = [column.name.lower() for column in programs.d.scope.columns]
        features += Counter({f"frame: {name}": n for name, n in programs.features.items()})
        features["program"] += 1
    fetches = _GRAMMAR["fetches"] | {"digest": tables.digests}
    if names and len(set(names)) == len(names) <= 8:
        fetches |= _GRAMMAR["writes"]
    fetch = dice.choices(list(fetches), list(fetches.values()))[0]
    features[f"fetch {fetch}"] += 1
    return Plan(seed, tuple(lines), settings, fetch, features)


def _settings(dice: random.Random, features: Counter[str]) -> dict[str, str]:
    found = {}
    for name, setting in _SETTINGS.items():
        found[name] = setting["usual"]
        for value, often in setting["others"].items():
            if dice.random() < often:
                found[name] = value
        short = name.removeprefix("spark.").removeprefix("sql.")
        features[f"setting {short}={found[name]}"] += 1
    is_compiled = found["spark.sql.codegen.wholeStage"] == "true"
    found["spark.sql.codegen.factoryMode"] = "FALLBACK" if is_compiled else "NO_CODEGEN"
    return found
