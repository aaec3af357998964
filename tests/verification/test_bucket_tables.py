"""Random tables with buckets lose no rows, and mutants of the bucket index do."""

import random

import pytest

from hudi_pyspark.format.bucket_keys import bucket_hashes
from hudi_pyspark.planning import bucket_index, bucket_laws
from hudi_pyspark.planning.bucket_laws import SimpleBuckets, candidates, find_laws
from verification.bucket_tables import __main__ as referee
from verification.common.runs import Run


def examined(folder, seed, lookups):
    run = Run()
    referee.examine(folder, seed, lookups, run)
    assert run.counts["look-ups", referee.FOUND]
    return run


@pytest.mark.parametrize("seed", range(500, 508))
def test_no_look_up_loses_a_row(tmp_path, seed):
    assert examined(tmp_path / "table", seed, 12).findings == []


def test_few_keys_of_a_smaller_number_of_buckets_are_noticed(tmp_path):
    # 23 keys are left of the 27 buckets that the table had before its writer took 54.
    assert examined(tmp_path / "table", 7835, 400).findings == []


def lost_rows(tmp_path, monkeypatch, layout, seeds):
    monkeypatch.setattr(referee, "LAYOUTS", (layout,))
    monkeypatch.setattr(referee, "EVENTS", (referee.compact,))
    return sum(len(examined(tmp_path / str(seed), seed, 12).findings) for seed in seeds)


def test_mutant_that_takes_evidence_of_another_partition_loses_rows(tmp_path, monkeypatch):
    verdicts = bucket_index.BucketIndex._verdicts

    def of_first_partition(self, slices):
        found = verdicts(self, slices)
        return dict.fromkeys(found, next(iter(found.values()), None))

    assert lost_rows(tmp_path / "whole", monkeypatch, "by partition", range(3)) == 0
    monkeypatch.setattr(bucket_index.BucketIndex, "_verdicts", of_first_partition)
    assert lost_rows(tmp_path / "mutant", monkeypatch, "by partition", range(3)) > 0


def lost_keys(keys_looked_at):
    """Look at some keys of groups whose numbers no hash chose, and look up the others."""
    rng = random.Random(4)
    lost = 0
    possible = candidates(("id",))
    for _ in range(300):
        located = [(f"{rng.randrange(3):08}-x-0", str(rng.random())) for _ in range(200)]
        laws, _ = find_laws(SimpleBuckets(6), located[:keys_looked_at], possible)
        for file_id, key in located[keys_looked_at:] if laws else ():
            hashes = bucket_hashes([(key,)])
            lost += not any(law.layout.may_have(hashes)(file_id) for law in laws)
    return lost


def test_mutant_that_demands_two_keys_loses_rows(monkeypatch):
    assert lost_keys(2) == lost_keys(60) == 0
    monkeypatch.setattr(bucket_laws, "LEAST_KEYS", 2)
    assert lost_keys(2) > 0
    assert lost_keys(60) == 0  # more keys than are demanded refute the law
