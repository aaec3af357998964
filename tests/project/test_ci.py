"""Public CI runs nothing but targets of the Makefile, with actions that cannot change."""

import re
from pathlib import Path

import pytest

from tests.project.ci_script import load

PROJECT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(
    re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


@each_workflow
def test_every_step_runs_a_target_that_exists(path):
    commands = re.findall(r"\brun: (.*)", path.read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        make, target = command.split()
        assert make == "make"
        assert target in TARGETS


@each_workflow
def test_every_action_is_pinned_by_a_full_hash_and_says_its_version(path):
    uses = re.findall(r"\buses: (.*)", path.read_text(encoding="utf-8"))
    assert uses
    for action in uses:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_same_action_has_the_same_hash_everywhere():
    texts = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pinned = set(re.findall(r"uses: ([\w/-]+)@(\w+)", texts))
    assert len(pinned) == len({action for action, _ in pinned})


def test_only_the_last_job_of_a_release_has_an_identity_and_it_builds_nothing():
    text = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = dict(
        re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("jobs:\n")[2], re.MULTILINE)
    )
    assert [*jobs] == ["test", "build", "publish"]
    assert ["id-token" in job for job in jobs.values()] == [False, False, True]
    assert re.findall(r"needs: (\w+)", text) == ["test", "build"]
    assert re.findall(r"run: make (.*)", jobs["publish"]) == ["publish"]
    assert "actions/download-artifact@" in jobs["publish"]


def test_every_python_that_the_package_declares_is_tested():
    text = (PROJECT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    found = re.search(r"python: \[(.*)\]", text)
    assert found is not None
    release = load("release_check")
    project = release.tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [c.rpartition(" ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    assert re.findall(r"[\d.]+", found[1]) == declared


def test_bug_report_asks_for_what_finds_the_cause():
    form = (PROJECT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text(encoding="utf-8")
    for asked in ("table-version", "hudi-release", "versions", "platform", "explain", "doctor"):
        assert f"    id: {asked}\n" in form
