"""When hudi-py merges: at each query, where the name of an engine ends in ``-off``.

Before all queries where it ends in ``-first``: then DuckDB and polars read base files themselves.
The others keep what a merge decided wherever the package does so by itself: the warm-up merges, and
the rounds that are measured do not.
"""

import os
from typing import Final

SWITCH: Final = "BENCHMARK_MERGE"
ENDINGS: Final = {"-off": "merging each time", "-first": "merged first"}
IS_FIRST: Final = os.environ.get(SWITCH) == "-first"
OPTIONS: Final = {"merge_cache": "off"} if os.environ.get(SWITCH) == "-off" else {}
