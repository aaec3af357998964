"""Mutants that change no answer, read from equivalent.toml."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verification.mutants.mutations import Mutant

_FILE = Path(__file__).with_name("equivalent.toml")


def reasons(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Return the ids of the mutants that are listed as equivalent, and why they are."""
    listed = tomllib.loads(_FILE.read_text()).get("equivalent", [])
    known = {(e["function"], e["line"], e["becomes"]): e["why"] for e in listed}
    texts = {mutant.id: (mutant.function, mutant.before, mutant.after) for mutant in mutants}
    return {key: known[text] for key, text in texts.items() if text in known}
