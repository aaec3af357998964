"""Each option says whether it changes rows; what follows from that is derived, option by option."""

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

import pytest

from hudi_pyspark.options.option import (
    BOOLEAN,
    Option,
    RangeMerge,
    option,
    options_of,
)
from hudi_pyspark.options.read_options import (
    OPTIONS,
    IncrementalOptions,
    ReadOptions,
    StreamOptions,
    TableOptions,
)
from hudi_pyspark.reading.small_slices import join_tasks
from tests.memory_storage import MemoryStorage
from tests.reading.slices_in_memory import task

# Fields that are set by other options, which say it, and settings of a storage or a catalog.
FOLLOWING = {"by_offset", "incremental", "fails_on_missing", "storage", "catalog"}


def test_option_that_does_not_say_whether_it_changes_rows_cannot_be_defined():
    with pytest.raises(TypeError, match="changes_rows"):
        option(BOOLEAN)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "owner",
    [TableOptions, ReadOptions, IncrementalOptions, StreamOptions],
    ids=lambda owner: owner.__name__,
)
def test_each_field_is_an_option(owner):
    others = {field.name for field in fields(owner)} - options_of(owner).keys()
    assert others <= FOLLOWING, "define the field by `option`, so that it says changes_rows"


def other_value(definition: Option) -> Any:
    """A value that is not the default."""
    default = definition.kind.default
    if isinstance(default, Enum):
        return list(type(default))[-1]
    if isinstance(default, str):
        return "other"
    return not default


CHANGING = {name: each for name, each in options_of(ReadOptions).items() if each.changes_rows}


def test_options_of_a_read_that_change_rows():
    assert set(CHANGING) == {
        "query_type",
        "on_damage",
        "merge_type",
        "payload_merger",
        "use_record_positions",
        "verify_checksums",
        "partition_values_from_path",
        "schema_on_read",
        "delete_field",
        "delete_marker",
        "bootstrap_base_path",
    }
    assert {each.key for each in OPTIONS if each.changes_rows} > {"range_merge"}


@pytest.mark.parametrize("name", CHANGING)
def test_option_with_another_value_than_its_default_is_among_those_that_change_rows(name):
    value = other_value(CHANGING[name])
    assert replace(ReadOptions(), **{name: value}).row_options == ((name, value),)


def joins(planned) -> bool:
    tasks = [planned, replace(planned), replace(planned)]
    return [len(group) for group in join_tasks(tasks, MemoryStorage({}))] != [1, 1, 1]


# These also need a merge rule or a payload class, which are part of the key by themselves.
@pytest.mark.parametrize("name", sorted(CHANGING.keys() - {"delete_field", "payload_merger"}))
def test_option_that_changes_rows_keeps_merges_apart_and_slices_unjoined(name):
    plain = task()
    other = task(**{name: other_value(CHANGING[name])})
    assert plain.shared.outcome_key_basis != other.shared.outcome_key_basis
    assert (joins(plain), joins(other)) == (True, False)


@pytest.mark.parametrize("name", ["batch_rows", "task_bytes", "spill_folder", "unique_keys"])
def test_option_that_changes_no_rows_shares_merges_and_joins_slices(name):
    other = task(**{name: other_value(options_of(ReadOptions)[name])})
    assert task().shared.outcome_key_basis == other.shared.outcome_key_basis
    assert joins(other)


@dataclass(frozen=True, slots=True)
class NewOptions(ReadOptions):
    """The options after somebody added two, and nothing else."""

    swaps_rows: bool = option(BOOLEAN, changes_rows=True)
    is_fast: bool = option(BOOLEAN, changes_rows=False)


def test_new_option_has_its_effects_from_its_definition_alone():
    plain = task(options_class=NewOptions)
    swapped = task(options_class=NewOptions, swaps_rows=True)
    fast = task(options_class=NewOptions, is_fast=True)
    assert swapped.shared.row_options == ("swaps_rows",)
    assert swapped.shared.outcome_key_basis != plain.shared.outcome_key_basis
    assert fast.shared.outcome_key_basis == plain.shared.outcome_key_basis
    assert (joins(plain), joins(swapped), joins(fast)) == (True, False, True)


def test_options_of_a_range_are_among_those_that_change_rows():
    options = ReadOptions(incremental=IncrementalOptions(begin="1", range_merge=RangeMerge.TABLE))
    assert options.row_options == (("range_merge", RangeMerge.TABLE),)
    assert ReadOptions().row_options == ()
