"""``make index-combinations COUNT=100000 SEED=1``: prints what the indexes left out."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from verification.common.runs import Run, parser_of
from verification.index_combinations.combinations import indexed_queries, try_combinations


def main() -> int:
    given = parser_of(__doc__, seed=1, count=100_000).parse_args()
    run = Run()
    with tempfile.TemporaryDirectory() as folder:
        queries = list(indexed_queries(Path(folder)))
        tables = {indexed.query.case for indexed in queries}
        print(f"{len(queries)} queries of {len(tables)} tables with indexes", flush=True)
        try_combinations(queries, given.count, given.seed, run)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
