"""Whether hudi-py merges at each query: the engines whose names end in ``-off`` do.

The others keep what a merge decided wherever the package does so by itself: the warm-up merges, and
the rounds that are measured do not.
"""

import os
from typing import Final

SWITCH: Final = "BENCHMARK_MERGE_CACHE"
OFF: Final = "-off"
OPTIONS: Final = {"merge_cache": os.environ[SWITCH]} if SWITCH in os.environ else {}
