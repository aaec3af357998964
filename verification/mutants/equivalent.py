"""Mutants that change no answer, read from equivalent.toml."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from verification.mutants.mutations import Mutant

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

Entry: TypeAlias = tuple[str, str, str]  # function, line, and what the line becomes

_FILE = Path(__file__).with_name("equivalent.toml")


def load_reasons() -> dict[Entry, str]:
    """Return each entry of the file, and why its mutant changes no answer."""
    entries = tomllib.loads(_FILE.read_text())["equivalent"]
    return {(e["function"], e["line"], e["becomes"]): e["why"] for e in entries}


def entry_of(mutant: Mutant) -> Entry:
    """Return the entry that would list a mutant as equivalent."""
    return mutant.function, mutant.before, mutant.after


def reasons(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Return the ids of the mutants that are listed as equivalent, and why they are."""
    listed = load_reasons()
    return {m.id: listed[entry] for m in mutants if (entry := entry_of(m)) in listed}
