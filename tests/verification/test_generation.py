import json
from pathlib import Path

import pytest

from verification.histories import generation
from verification.histories.generation import abilities_of
from verification.histories.history import StepKind
from verification.histories.writers import WRITERS as MAKERS

WRITERS = json.loads(Path(generation.__file__).with_name("abilities.json").read_text())
_WRITE = "hoodie.datasource.write"
NAMED_BY_THE_TABLE = {
    "hoodie.write.table.version",
    f"{_WRITE}.recordkey.field",
    f"{_WRITE}.partitionpath.field",
    f"{_WRITE}.precombine.field",
}


def test_every_writer_has_a_maker() -> None:
    assert {writer.abilities for writer in MAKERS} == set(WRITERS)


@pytest.mark.parametrize("writer", WRITERS)
def test_an_option_depends_on_options_that_are_drawn_before(writer: str) -> None:
    abilities = abilities_of(writer)
    known = {*NAMED_BY_THE_TABLE, *abilities.fixed_options}
    for option in abilities.options:
        known.add(option["name"])
        assert option.get("when", {}).keys() <= known
        known |= option.get("then", {}).keys()
        assert all(weight > 0 for weight in option["values"].values())


@pytest.mark.parametrize("writer", WRITERS)
def test_every_step_is_a_kind_a_variant_or_what_a_method_makes(writer: str) -> None:
    abilities = abilities_of(writer)
    made = next(each for each in MAKERS if each.abilities == writer)
    kinds = {kind.value for kind in StepKind}
    steps = {**abilities.steps, **abilities.steps_of_logs, **abilities.first_steps}
    for name, entry in steps.items():
        assert name in kinds or isinstance(entry, dict) or hasattr(made.maker, name)
    assert {*abilities.types, *abilities.rare_types} <= set(made.types)
