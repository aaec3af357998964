"""Mutants that change no answer, read from equivalent.toml."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from verification.common.data import load_data
from verification.mutants.mutations import Mutant

Entry: TypeAlias = tuple[str, str, str]  # function, line, and what the line becomes


def load_reasons() -> dict[Entry, str]:
    """Return each entry of the file, and why its mutant changes no answer."""
    entries = load_data(__file__, "equivalent.toml")["equivalent"]
    return {(e["function"], e["line"], e["becomes"]): e["why"] for e in entries}


def entry_of(mutant: Mutant) -> Entry:
    """Return the entry that would list a mutant as equivalent."""
    return mutant.function, mutant.before, mutant.after


def reasons(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Return the ids of the mutants that are listed as equivalent, and why they are."""
    listed = load_reasons()
    return {m.id: listed[entry] for m in mutants if (entry := entry_of(m)) in listed}
