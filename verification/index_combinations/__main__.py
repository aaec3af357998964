"""``make index-combinations COUNT=100000 SEED=1``: prints what the indexes left out."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from verification.index_combinations.combinations import indexed_queries, try_combinations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        queries = list(indexed_queries(Path(folder)))
        tables = {indexed.query.case for indexed in queries}
        print(f"{len(queries)} queries of {len(tables)} tables with indexes", flush=True)
        begin = time.process_time()
        outcome = try_combinations(queries, given.count, given.seed)
        seconds = time.process_time() - begin
    print(
        f"{outcome.combinations:,} combinations in {seconds:,.0f} s of processor time: "
        f"{len(outcome.failures)} with fewer or other rows"
    )
    for index, count in outcome.narrowed.most_common():
        print(f"  {index}: left out {outcome.left_out[index]:,} in {count:,} combinations")
    for failure in outcome.failures[:20]:
        print(failure)
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
