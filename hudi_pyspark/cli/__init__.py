"""The command `hudi-py`, which prints the answers of this package's public calls."""

import importlib.util
import sys

_MISSING = "hudi-py lacks two packages (extra 'cli'):\n    pip install typer rich\n"


def main() -> None:
    """Run the command line of this process; never returns."""
    if any(importlib.util.find_spec(name) is None for name in ("typer", "rich")):
        sys.stderr.write(_MISSING)
        sys.exit(5)
    from hudi_pyspark.cli.app import run  # noqa: PLC0415  (imports typer and rich)

    run()
