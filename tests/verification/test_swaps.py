"""A sample of `make damage DAMAGE_ARGS=--swaps`: files with the content of another file."""

import pytest

from tests.sampling import SAMPLED, sample
from verification.common.archives import files_of
from verification.damage.damages import Damage, outcome_of, swap_damages_of
from verification.damage.tables import NAMED, begins_of, verdict_of_rows

CASES = ["v6_mor_missing_columns", "v9_mor_multi_ordering", "v6_mor_replace", "v9_mor_mdt_indexes"]


def is_commit(path):
    return path.startswith(".hoodie/") and path.endswith(("commit", "deltacommit"))


@pytest.mark.parametrize("case", CASES)
@SAMPLED
def test_file_below_hoodie_with_the_content_of_another_changes_no_row(case, is_whole):
    every = [d for d in swap_damages_of(case, 10**9) if d.path.startswith(".hoodie/")]
    some = every if is_whole else sample(every, case, 1 + len(every) // 20)
    found = {damage: outcome_of(case, damage) for damage in some}
    bad = {damage: o.detail for damage, o in found.items() if o.is_finding}
    assert bad == {}
    assert NAMED in {outcome.verdict for outcome in found.values()}


@pytest.mark.parametrize("body", [b'{"name": "unrelated"}', b'{"a": {"": [{"path": "b"}]}}'])
@pytest.mark.parametrize("case", ["v6_mor_missing_columns", "v9_mor_multi_ordering"])
def test_commit_of_unrelated_json_loses_no_row(case, body):
    """An incremental query would take it for a commit that wrote nothing."""
    paths = [path for path in files_of(case) if is_commit(path)]
    assert len(paths) > 2
    for path in paths:
        storage = Damage("swap", path, 0, "unrelated").of({**files_of(case), "unrelated": body})
        del storage.files["unrelated"]
        found = verdict_of_rows(case, storage, begins=begins_of(case))
        assert found == (NAMED, "CorruptTimelineError")


@pytest.mark.parametrize(
    ("case", "path", "other"),
    [
        pytest.param(
            "v6_mor_payload_awsdms",
            ".154371e7-df7a-478e-b89d-7ef366d10bca-0_20261121062114784.log.2_0-4539-6312",
            ".154371e7-df7a-478e-b89d-7ef366d10bca-0_20261121062114784.log.1_0-4519-6293",
            id="version-6",
        ),
        pytest.param(
            "v9_mor_corrupt_log_block",
            ".978c91a1-4e5e-4dcf-a31a-3cc52d6cb749-0_20261121064515931.log.1_0-52-61",
            ".978c91a1-4e5e-4dcf-a31a-3cc52d6cb749-0_20261121064510664.log.1_0-18-24",
            id="version-9",
        ),
    ],
)
def test_log_file_with_the_content_of_a_longer_one_of_another_commit_is_refused(case, path, other):
    assert outcome_of(case, Damage("swap", path, 0, other)).verdict == NAMED
