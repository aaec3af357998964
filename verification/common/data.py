"""Data of the harnesses that lie in TOML files beside their modules."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there


@cache
def load_data(module: str, name: str) -> dict[str, Any]:
    """Load a file that lies beside a module, of which ``__file__`` is given."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))
