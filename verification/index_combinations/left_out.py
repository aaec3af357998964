"""What the indexes have left out of the plan of a scan."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_pyspark.scan import Scan

_LEFT_OUT = re.compile(r"([0-9]+) of [0-9]+ (?:partitions|file slices) by ([^;]+)")


def left_out(scan: Scan) -> Counter[str]:
    """Partitions or file slices that a planned scan leaves out, by the index."""
    found: Counter[str] = Counter()
    for note in _notes(scan):
        for number, index in _LEFT_OUT.findall(note):
            if int(number):
                found[re.sub(" of .*", "", index)] += int(number)  # without a column's name
    return found


def _notes(scan: Scan) -> list[str]:
    """What indexes did, without the cost of a whole explanation."""
    planner, choice = scan._planner, scan._query.choice
    return [*planner.skipping.notes, *(choice.notes if choice is not None else ())]
