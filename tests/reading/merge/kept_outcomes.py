"""Outcomes of merges to keep in files."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from hudi_pyspark.reading.merge.outcome import KeptOutcome, Outcome
from hudi_pyspark.reading.merge.outcome_files import cache_folder
from hudi_pyspark.reading.merge.whole_records import MergeDecision

SECRET, OTHER = "a" * 64, "b" * 64


def folder_in(parent: Path) -> Path:
    """The folder that `merge_cache_folder` with this parent means."""
    folder = cache_folder(str(parent), {})
    assert folder is not None
    return folder


def outcome_of(rows_kept=3, *, is_whole=True, text="v"):
    dropped = np.array([True, False, False, True, False])
    kept = np.array([False, *([True] * rows_kept)]) if is_whole else None
    outcome = Outcome(
        decision=MergeDecision(dropped, kept),
        records=pa.table(
            {"n": list(range(rows_kept)), "v": [f"{text}{n}" for n in range(rows_kept)]}
        ),
        record_count=rows_kept,
        block_instants=("001", "002"),
        counting_instants=("001",),
    )
    return KeptOutcome(outcome, versions=("", "v1"))


def same(found_entry, expected_entry):
    assert found_entry.versions == expected_entry.versions
    found = found_entry.outcome
    expected = expected_entry.outcome
    for mask, expected_mask in zip(found.decision, expected.decision, strict=True):
        assert (mask is None) == (expected_mask is None)
        assert mask is None or np.array_equal(mask, expected_mask)
    assert found.records.equals(expected.records, check_metadata=True)
    assert found.record_count == expected.record_count
    assert found.block_instants == expected.block_instants
    assert found.counting_instants == expected.counting_instants
    return True
