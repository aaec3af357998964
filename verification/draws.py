"""Print how many questions each generator draws, with a digest of them.

``python -m verification.draws --seed 1 --count 100`` asks nothing, and needs no Java. Equal digests
before and after a change of the generators say that the same seeds ask the same questions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from random import Random

from verification import shredded_variants
from verification.common.runs import parser_of, seeds_of
from verification.histories.history import to_json
from verification.histories.writers import history_of
from verification.live_writer.rows import WRITERS
from verification.live_writer.writer import batches
from verification.random_plans import conditions, engines, plan, tables
from verification.states import program

WRITING = (
    "1.2.0",
    "1.0.2",
    "0.15.0",
    "0.15.0+1.0.2+1.2.0",
    "avro-1.0.2",
    "java-1.2.0",
    "flink-0.14.0",
    "hudi-rs-0.6.0-rc.1",
)


def _history(hudi: str, seed: int) -> str:
    return json.dumps(to_json(history_of(seed, 0, hudi)), sort_keys=True)


def _condition(dialect: str, seed: int) -> str:
    _, condition = engines.draw_condition(seed, "ends")
    return conditions.say(condition, dialect)


def _variant(seed: int) -> str:
    dice = Random(seed)
    kind = shredded_variants.random_type(dice, depth=3, at_top=True)
    value = shredded_variants.random_value(dice, kind)
    return f"{kind} {value} {shredded_variants.random_json(dice, 3)}"


def _batches(writer: str, seed: int) -> str:
    return str(list(islice(batches(writer, Random(seed)), 20)))


QUESTIONS: Mapping[str, Callable[[int], str]] = {
    **{f"history by {hudi}": partial(_history, hudi) for hudi in WRITING},
    **{
        f"plan over {family}": partial(lambda family, seed: plan.draw(seed, family).text, family)
        for family in tables.FAMILIES
    },
    **{
        f"condition of {dialect}": partial(_condition, dialect)
        for dialect in ("spark", "filter", "duckdb")
    },
    "program of a classic session": lambda seed: (
        program.draw(seed, views=program.NEWEST, is_connect=False, merges=False).text
    ),
    "program of Spark Connect": lambda seed: (
        program.draw(seed, views=program.KEPT, is_connect=True, merges=False).text
    ),
    "program that merges": lambda seed: (
        program.draw(seed, views=program.NEWEST, is_connect=False, merges=True).text
    ),
    **{f"batches of writer {name}": partial(_batches, name) for name in WRITERS},
    "variant": _variant,
}


def digest(question: Callable[[int], str], seeds: range) -> str:
    """Return a digest of the questions of seeds."""
    found = hashlib.sha256()
    for seed in seeds:
        found.update(question(seed).encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]


def main() -> None:
    """Run as described above."""
    seeds = seeds_of(parser_of(__doc__, seed=1, count=100).parse_args())
    for name, question in QUESTIONS.items():
        print(f"{digest(question, seeds)}  {len(seeds):6} {name}")


if __name__ == "__main__":
    main()
