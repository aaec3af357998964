"""What the indexes have left out of the plan of a scan."""

from __future__ import annotations

import re
from collections import Counter

from hudi_pyspark.scan import Scan

_LEFT_OUT = re.compile(r"([0-9]+) of [0-9]+ file slices by ([^;,]+)")


def left_out(scan: Scan) -> Counter[str]:
    """File slices that a scan leaves out, by the index."""
    found: Counter[str] = Counter()
    for note in scan._grouped_plan().notes:
        for number, index in _LEFT_OUT.findall(note):
            if int(number):
                found[index] += int(number)
    return found
