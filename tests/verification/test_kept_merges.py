"""The harness of kept merges sees an outcome that is another slice's."""

from dataclasses import replace

import pytest

from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from verification.kept_merges import ask

CASE = GOLDEN / "v9_mor_clustering"


@pytest.fixture
def path(tmp_path):
    return load_case(CASE).extract(tmp_path)


def test_answers_with_kept_merges_are_those_of_apache_hudi(path, tmp_path):
    problems = ask(CASE, path, tmp_path / "kept", 1.0, 3)
    assert problems
    assert not any(problems)
    assert list((tmp_path / "kept").glob("*/*"))


def test_wrong_outcome_is_seen(path, tmp_path, monkeypatch):
    find = OutcomesOnDisk.find

    def find_another(store, key, names, **_):
        kept = find(store, key, names)
        if kept is None:
            return None
        decision = kept.outcome.decision
        wrong = decision._replace(dropped_base_rows=~decision.dropped_base_rows)
        return replace(kept, outcome=replace(kept.outcome, decision=wrong))

    monkeypatch.setattr(OutcomesOnDisk, "find", find_another)
    assert any(ask(CASE, path, tmp_path / "kept", 1.0, 3))
