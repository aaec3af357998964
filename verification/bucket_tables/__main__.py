"""Look up rows of random tables with a bucket index by their keys.

    python -m verification.bucket_tables [--count TABLES] [--seed SEED] [--lookups LOOKUPS]

The writer of a table knows its rows, so no answer of the reader is its own judge. Each row must be
in a file slice that a filter on its key leaves, and some are read. Exits with 1 if a row is lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from verification.bucket_tables.referee import examine


def main() -> int:
    parser = argparse.ArgumentParser(description="look up rows of random tables with buckets")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lookups", type=int, default=200, help="of each table")
    arguments = parser.parse_args()
    lookups = lost = left_out = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            found = examine(Path(folder) / "table", seed, arguments.lookups)
        lookups += found.lookups
        lost += len(found.problems)
        left_out += found.left_out
        for problem in found.problems[:5]:
            print(f"seed {seed}, {found.shape}: {problem}")
    print(f"{lookups} look-ups, {lost} lost rows; {left_out} slices were left out")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
