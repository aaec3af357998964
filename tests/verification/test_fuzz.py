"""Every parser gives rows or a named error for the inputs of findings."""

import resource
from pathlib import Path

import pytest

from verification.fuzz.findings import Findings, TooMuchMemory, run_checked
from verification.fuzz.seeds import corpus_of, seeds_of
from verification.fuzz.targets import TARGETS, Target

STATM = Path("/proc/self/statm")  # first the address space, in pages


@pytest.mark.parametrize(
    ("target", "name"), [(target, name) for target in TARGETS for name in corpus_of(target)]
)
def test_inputs_of_earlier_findings_are_read_or_refused(target, name):
    run_checked(TARGETS[target], corpus_of(target)[name])


@pytest.mark.skipif(not STATM.exists(), reason="only Linux shows its processes as files")
@pytest.mark.parametrize("target", TARGETS)
def test_refusals_keep_no_memory(target):
    def addresses(times: int) -> int:
        for _ in range(times):
            for data in corpus_of(target).values():
                run_checked(TARGETS[target], data)
        return int(STATM.read_text().split()[0]) * resource.getpagesize()

    at_first = addresses(10)  # Arrow reserves a gigabyte once
    assert addresses(100) - at_first < 400 << 20


@pytest.mark.parametrize("target", TARGETS)
def test_good_inputs_are_read(target):
    accepted = [TARGETS[target].run(seed) for seed in seeds_of(target)]
    assert any(accepted)


def no_name(data: bytes) -> None:
    raise KeyError(data)


def test_an_error_without_a_name_is_a_finding_once_for_each_place(tmp_path):
    findings = Findings(Target(no_name), tmp_path)
    findings.run(b"one")
    findings.run(b"two")
    assert [path.read_bytes() for path in tmp_path.iterdir() if not path.suffix] == [b"one"]
    (report,) = tmp_path.glob("*.txt")
    assert "KeyError: b'one'" in report.read_text()


def test_more_memory_than_ten_times_the_input_is_a_finding():
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    more_than_ever = Target(lambda _: b"1" * (highest + (64 << 20)))
    with pytest.raises(TooMuchMemory, match="for 3 bytes"):
        run_checked(more_than_ever, b"abc")
