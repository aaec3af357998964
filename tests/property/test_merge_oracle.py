import decimal
from collections import Counter
from collections.abc import Set
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.columns.arrays import is_true
from tests.property.random_merges import (
    Slice,
    arrow_schema,
    base_table,
    cut_sets,
    log_file,
    rule_of_slice,
    slices,
)
from tests.reading.log_records.log_files import (
    BASE_INSTANT,
    ENOUGH_MEMORY,
    KEY,
    log_decoder,
    merged_slice,
)

pytestmark = pytest.mark.property

MILLI = decimal.Decimal("0.001")


def merged(
    case: Slice,
    *,
    base_cuts: Set[int] = frozenset(),
    log_cuts: Set[int] = frozenset(),
    memory: int = ENOUGH_MEMORY,
):
    rule = rule_of_slice(case)
    decoder = log_decoder(
        arrow_schema(case.kinds), rule, BASE_INSTANT if case.by_position else None
    )
    table = base_table(case)
    ends = sorted({0, table.num_rows, *(cut for cut in base_cuts if cut < table.num_rows)})
    base = [table.slice(start, end - start) for start, end in pairwise(ends)]
    log = log_file(case, cuts=log_cuts)
    values = pa.array([case.base[p].value for p in case.left_out if p < len(case.base)], pa.int64())
    tables = merged_slice(
        log,
        base,
        decoder,
        memory=memory,
        batch_rows=3,
        row_filter=lambda rows: ~is_true(pc.is_in(rows.column("v"), value_set=values)),
    )
    return Counter(
        (row[KEY], row["v"]) for result in tables for row in result.select([KEY, "v"]).to_pylist()
    )


# Bytes, from those that no record fits into to those of a few blocks.
little_memory = st.sampled_from([1, 1_000, 4_000, 16_000])


@given(slices())
def test_merge_by_key_agrees_with_row_at_a_time_oracle(case):
    assert merged(case) == case.expected()


@given(slices(), cut_sets, cut_sets, st.just(ENOUGH_MEMORY) | little_memory)
def test_merge_of_lsm_tree_agrees_with_row_at_a_time_oracle(case, base, log, memory):
    case = replace(case, folds_base=True)
    assert merged(case, base_cuts=base, log_cuts=log, memory=memory) == case.expected()


@given(slices(by_position=True))
def test_merge_by_position_agrees_with_row_at_a_time_oracle(case):
    assert merged(case) == case.expected()


@given(st.booleans().flatmap(lambda positions: slices(by_position=positions)), cut_sets)
def test_result_does_not_depend_on_how_the_base_is_batched(case, cuts):
    assert merged(case, base_cuts=cuts) == merged(case)


@given(slices(), cut_sets)
def test_result_does_not_depend_on_where_log_blocks_are_split(case, cuts):
    assert merged(case, log_cuts=cuts) == merged(case)


@given(slices(), cut_sets, cut_sets, little_memory)
def test_merge_in_passes_by_key_agrees_with_row_at_a_time_oracle(case, base, log, memory):
    assert merged(case, base_cuts=base, log_cuts=log, memory=memory) == case.expected()


@given(slices(by_position=True), cut_sets, cut_sets, little_memory)
def test_merge_in_passes_by_position_agrees_with_row_at_a_time_oracle(case, base, log, memory):
    assert merged(case, base_cuts=base, log_cuts=log, memory=memory) == case.expected()
