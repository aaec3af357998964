"""Look up rows of random tables with a bucket index by their keys.

    python -m verification.bucket_tables [--count TABLES] [--seed SEED] [--lookups LOOKUPS]

The writer of a table knows its rows, so no answer of the reader is its own judge. Each row must be
in a file slice that a filter on its key leaves, and some are read. Exits with 1 if a row is lost.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from verification.bucket_tables.referee import examine
from verification.common.runs import Run, parser_of, seeds_of


def main() -> int:
    parser = parser_of(__doc__, seed=1, count=100)
    parser.add_argument("--lookups", type=int, default=200, help="of each table")
    given = parser.parse_args()
    run = Run()
    for seed in seeds_of(given):
        with tempfile.TemporaryDirectory() as folder:
            examine(Path(folder) / "table", seed, given.lookups, run)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
