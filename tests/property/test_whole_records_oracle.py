"""A merge that is resumed at random places agrees with the row-at-a-time oracle."""

from collections import Counter
from collections.abc import Set
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from hudi_pyspark.reading.merge.whole_records import MergeDecision, WholeRecords, Winners
from hudi_pyspark.table.log_files import BlockFilter, scan_blocks
from tests.property.random_merges import (
    Slice,
    arrow_schema,
    base_table,
    cut_sets,
    log_file,
    rule_of_slice,
    slices,
)
from tests.reading.log_records.log_files import BASE_INSTANT, KEY, framed, log_decoder

pytestmark = pytest.mark.property


def resumed(case: Slice, *, log_cuts: Set[int], base_cuts: Set[int]) -> Counter[tuple[str, int]]:
    """Merge the blocks group by group; between the groups the winners go through a table."""
    rule = rule_of_slice(case)
    positions_of = BASE_INSTANT if case.by_position else None
    decoder = log_decoder(arrow_schema(case.kinds), rule, positions_of)
    base = base_table(case)
    ends = sorted({0, base.num_rows, *(cut for cut in base_cuts if cut < base.num_rows)})
    tables = [base.slice(start, end - start) for start, end in pairwise(ends)]
    content = log_file(case, cuts=frozenset(range(12)))  # each record is a block
    blocks = scan_blocks(framed(content), BlockFilter("999", None)).blocks
    places = sorted({0, len(blocks), *(cut for cut in log_cuts if cut < len(blocks))})

    decision = MergeDecision(np.zeros(base.num_rows, np.bool_), np.empty(0, np.bool_))
    winners = None
    log_rows = [decoder.schema.empty_table()]
    for start, end in pairwise(places):
        log = decoder.concatenate([*decoder.decode(blocks[start:end])])
        if case.by_position:  # as if the reader had left the keys out
            log = replace(log, keys=pa.nulls(len(log), pa.string()))
        before = decision.dropped_base_rows.copy()
        merge = WholeRecords(log, rule, decision, winners)
        for table in tables if merge.needs_base_rows else ():
            merge.keep(table)
        next_decision, next_winners = merge.finish()
        assert np.array_equal(decision.dropped_base_rows, before)  # readers may still use it
        decision = next_decision
        winners = Winners.from_table(next_winners.to_table())
        log_rows.append(log.rows)
    remaining = base.filter(pa.array(~decision.dropped_base_rows))
    kept = pa.concat_tables(log_rows).filter(pa.array(decision.kept_log_rows))
    rows = pa.concat_tables([remaining.select([KEY, "v"]), kept.select([KEY, "v"])])
    return Counter((row[KEY], row["v"]) for row in rows.to_pylist())


@given(slices(), cut_sets, cut_sets)
def test_merge_by_key_that_is_resumed_agrees_with_the_oracle(case, log_cuts, base_cuts):
    case = replace(case, left_out=frozenset())
    assert resumed(case, log_cuts=log_cuts, base_cuts=base_cuts) == case.expected()


@given(slices(by_position=True), cut_sets, cut_sets)
def test_merge_by_position_that_is_resumed_agrees_with_the_oracle(case, log_cuts, base_cuts):
    case = replace(case, left_out=frozenset())
    assert resumed(case, log_cuts=log_cuts, base_cuts=base_cuts) == case.expected()


def test_no_later_records_change_nothing():
    case = Slice(("long",), True, False, [], [], [])  # noqa: FBT003
    decoder = log_decoder(arrow_schema(case.kinds), rule_of_slice(case))
    log = decoder.concatenate([])
    rule = rule_of_slice(case)
    decision = MergeDecision(np.array([True, False]), np.empty(0, np.bool_))
    after, _ = WholeRecords(log, rule, decision).finish()
    assert after.dropped_base_rows.tolist() == [True, False]
