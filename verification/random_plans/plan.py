"""A random plan: settings, lines of Python, and how its rows are fetched."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from verification.random_plans.expressions import GRAMMAR
from verification.random_plans.parts import render, shorter
from verification.random_plans.programs import Programs
from verification.random_plans.queries import Queries
from verification.random_plans.tables import load

_USUAL = {name: setting["usual"] for name, setting in GRAMMAR["settings"].items()}


@dataclass(frozen=True)
class Plan:
    """A plan of a seed."""

    seed: int
    # Python, after which ``d`` is a DataFrame; see `programs`. Parts that may be left out stand
    # between the signs of `parts`.
    lines: tuple[str, ...]
    settings: Mapping[str, str]  # of the session
    fetch: str = "collect"  # how the rows are fetched, see `sides`
    # What was drawn, and how often.
    features: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def text(self) -> str:
        """The plan as a program."""
        changed = [f"spark.conf.set({name!r}, {self.settings[name]!r})" for name in self._changed()]
        return "\n".join([*changed, self.source, f"# fetched by {self.fetch}"])

    def _changed(self) -> list[str]:
        """Return the settings that do not have their usual values."""
        given = self.settings.items()
        return [n for n, value in given if n in _USUAL and value != _USUAL[n]]

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
        for name in self._changed():
            yield replace(self, settings={**self.settings, name: _USUAL[name]})


def draw(seed: int, family: str = "names") -> Plan:
    """Draw the plan of a seed over a family of tables; nothing else decides it."""
    dice = random.Random(f"{family} {seed}")
    tables = load(family)
    features: Counter[str] = Counter()
    settings = _settings(dice, features)
    ignores_case = settings["spark.sql.caseSensitive"] == "false"
    way = dice.random()
    if way < 0.55:
        draws = Queries(dice, tables, ignores_case=ignores_case)
        query = draws.text() if way < 0.2 else draws.statement()
        lines = [f"d = spark.sql({query.sql!r})"]
        features += draws.features
        features["SQL"] += 1
        if dice.random() < 0.12:
            lines.append("d = d.cache()")
            features["SQL cache"] += 1
    else:
        programs = Programs(dice, tables, ignores_case=ignores_case)
        lines = programs.program()
        query = programs.d
        features += Counter({f"frame: {name}": n for name, n in programs.features.items()})
        features["program"] += 1
    names = [column.name.lower() for column in query.scope.columns]
    fetches = GRAMMAR["fetches"] | {"digest": tables.digests}
    if names and len(set(names)) == len(names) <= 8:
        fetches |= GRAMMAR["writes"]
    fetch = dice.choices(list(fetches), list(fetches.values()))[0]
    features[f"fetch {fetch}"] += 1
    return Plan(seed, tuple(lines), settings, fetch, features)


def _settings(dice: random.Random, features: Counter[str]) -> dict[str, str]:
    found = {}
    for name, setting in GRAMMAR["settings"].items():
        found[name] = setting["usual"]
        for value, often in setting["others"].items():
            if dice.random() < often:
                found[name] = value
        short = name.removeprefix("spark.").removeprefix("sql.")
        features[f"setting {short}={found[name]}"] += 1
    is_compiled = found["spark.sql.codegen.wholeStage"] == "true"
    found["spark.sql.codegen.factoryMode"] = "FALLBACK" if is_compiled else "NO_CODEGEN"
    return found
