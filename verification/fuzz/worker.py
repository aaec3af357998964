"""Fuzzes one target in a separate process: coverage-guided, by libFuzzer."""

from __future__ import annotations

import random
import resource
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hudi_pyspark"]):
    from verification.fuzz.targets import TARGETS

from verification.fuzz.findings import Findings
from verification.fuzz.seeds import seeds_of

_SHARE_REPAIRED = 0.8
_TOKENS = Path(__file__).with_name("tokens.dict")
_MOST_ADDRESSES = 64 << 30  # bytes: whoever asks for more gets a MemoryError


def main() -> None:
    """Fuzz ``NAME`` and keep inputs in ``FOLDER``; further arguments are libFuzzer's."""
    name, folder, *arguments = sys.argv[1:]
    target = TARGETS[name]
    seeds = seeds_of(name)
    corpus = Path(folder) / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESSES, _MOST_ADDRESSES))
    findings = Findings(target, Path(folder) / "findings" / name)

    def mutant(data: bytes, max_size: int, seed: int) -> bytes:
        mutated = bytes(atheris.Mutate(data, max_size))
        is_repaired = random.Random(seed).random() < _SHARE_REPAIRED
        return target.repair(mutated)[:max_size] if is_repaired else mutated

    artifacts = f"-artifact_prefix={folder}/findings/{name}-"
    options = [
        f"-dict={_TOKENS}",
        "-print_final_stats=1",
        "-timeout=30",
        "-rss_limit_mb=4096",
        artifacts,
    ]
    atheris.Setup(
        [sys.argv[0], *options, *arguments, str(corpus)], findings.run, custom_mutator=mutant
    )
    atheris.Fuzz()


main()
