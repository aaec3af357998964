"""The command `hudi-py`, which prints the answers of this package's public calls."""

import gc
import importlib.util
import os
import sys

_MISSING = "hudi-py lacks two packages (extra 'cli'):\n    pip install click rich\n"


def main() -> None:
    """Run the command line of this process; never returns."""
    if any(importlib.util.find_spec(name) is None for name in ("click", "rich")):
        sys.stderr.write(_MISSING)
        sys.exit(5)
    # Half of the time of a small answer goes into imports. They leave no garbage, and nothing here
    # uses the threads that numpy's linear algebra starts.
    gc.set_threshold(50_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from hudi_pyspark.cli.app import run  # noqa: PLC0415  (imports click and rich)

    run()
