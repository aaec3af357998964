"""Log records folded key by key where the winner takes values from the loser.

One round merges the next record of every key that still has one: all keys at once, as many rounds
as the most frequent key has records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hudi_pyspark.query.log_records.records import Records, concat

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]


def fold_in_rounds(
    codes: Rows, records: Callable[[Rows], Records], merge: Callable[[Records, Records], Records]
) -> tuple[Records, Rows]:
    """Fold the records of each key, oldest to newest.

    Args:
        codes: per record, in order of arrival, the number of its key, from 0 on without gaps.
        records: the records at some places.
        merge: older and newer records, pair by pair, to their outcome.

    Returns:
        One record per key, and the codes of their keys.
    """
    arrival = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    first = np.concatenate(([0], np.cumsum(counts)[:-1])) if len(counts) else counts
    # Keys with many records come first, so that those still to be merged are always a prefix.
    keys = np.argsort(-counts, kind="stable")
    counts, first = counts[keys], first[keys]
    state = records(arrival[first])
    for turn in range(1, int(counts.max(initial=0))):
        open_keys = int(np.searchsorted(-counts, -turn, side="left"))
        newer = records(arrival[first[:open_keys] + turn])
        merged = merge(_slice(state, 0, open_keys), newer)
        state = concat(merged, _slice(state, open_keys, len(state)))
    return state, keys


def _slice(records: Records, start: int, stop: int) -> Records:
    return records.take(np.arange(start, stop))
