"""Which slices there are, and what each task reads, does not depend on the order of a listing."""

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.planning.slice_tasks import SliceQuery
from hudi_pyspark.table.file_group import BaseFile, LogFile, group_files
from hudi_pyspark.table.merge_mode import resolve_merge_rule
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from tests.reading.planned_tasks import planner_of
from tests.table.tiny_table import TinyTable, base, log

pytestmark = pytest.mark.property

SCHEMA = pa.schema([(n, pa.string()) for n in ("_hoodie_record_key", "id", "p")])
# Few of each, so that files meet in one slice. Nothing names 010: it counts as archived.
TIMES = ["010", "020", "030", "040"]
PARTITIONS = ["d", "b/c", "a"]

file_ids = st.sampled_from("gf")
partitions = st.sampled_from(PARTITIONS)
tokens = st.sampled_from(["0-1-0", "0-1-1"])
bases = st.builds(lambda p, f, t, k: f"{p}/{base(f, t, k)}", partitions, file_ids,
                  st.sampled_from(TIMES), tokens)  # fmt: skip
logs = st.builds(lambda p, f, t, v, k: f"{p}/{log(f, t, v, k)}", partitions, file_ids,
                 st.sampled_from(TIMES), st.integers(1, 11), tokens)  # fmt: skip
states = st.sampled_from(["commit", "deltacommit", "replacecommit", "inflight", "none"])


class ShuffledStorage(MemoryStorage):
    """Lists every folder in another order each time."""

    def __init__(self, files, random: Random):
        super().__init__(files)
        self.random = random

    def list_directory(self, directory):
        entries = super().list_directory(directory)
        self.random.shuffle(entries)
        return entries


@st.composite
def tables(draw):
    """A table of any files, some of them committed, with a compaction planned for some groups."""
    table = TinyTable(draw(st.sampled_from([6, 9])), table__partition__fields="p")
    paths = draw(st.lists(st.one_of(bases, logs), unique=True, max_size=20))
    table.data(*paths)
    for time in TIMES[1:]:
        state = draw(states)
        named = [path for path in paths if f"_{time}." in path]
        if state == "inflight":
            table.instant(f"{time}.deltacommit.inflight")
        elif state != "none":
            completed = draw(st.sampled_from([t for t in [*TIMES, "050"] if t > time]))
            replaces = {"a": [draw(file_ids)]} if state == "replacecommit" else {}
            table.write(time, state, *named, completed=completed, replaces=replaces)
    if draw(st.booleans()):
        groups = draw(st.sets(st.tuples(partitions, file_ids), max_size=3))
        table.plan_compaction("025", *sorted(groups))
    return table


def tasks(view, slices):
    rule = resolve_merge_rule(view.config, "", "")
    planner = planner_of(view.config, SCHEMA, rule, view.history.committed)
    return planner.tasks(slices, SliceQuery(SCHEMA, view.slices.last_instant))


@given(tables(), st.sampled_from([None, "015", "025", "035"]), st.booleans(), st.randoms())
def test_file_slices_ignore_the_order_of_the_listing(table, as_of, read_optimized, random):
    expected = open_table(MemoryStorage(table.files))
    shuffled = open_table(ShuffledStorage(table.files, random))
    assert shuffled.timeline == expected.timeline
    assert shuffled.listing.partitions() == expected.listing.partitions()
    slices = shuffled.slices.as_of(as_of, read_optimized=read_optimized)
    assert slices == expected.slices.as_of(as_of, read_optimized=read_optimized)


@given(tables(), st.randoms())
def test_plan_ignores_the_order_of_the_slices(table, random):
    view = open_table(MemoryStorage(table.files))
    slices = view.slices.as_of()
    expected = tasks(view, slices)
    random.shuffle(slices)
    assert tasks(view, slices) == expected
    assert {(t.file_slice.partition_path, t.file_slice.file_id) for t in expected} == {
        (s.partition_path, s.file_id) for s in slices
    }


@st.composite
def groupings(draw):
    """Base and log files of one partition, with what is known of their instants."""
    keys = st.tuples(file_ids, st.sampled_from(TIMES))
    parts = st.tuples(file_ids, st.sampled_from(TIMES), st.integers(8, 11), tokens)
    base_files = [
        BaseFile(base(file_id, time), file_id, time, size=1)
        for file_id, time in sorted(draw(st.sets(keys, max_size=4)))
    ]
    log_files = [
        LogFile(log(file_id, time, version, token), file_id, time, version, token, size=1)
        for file_id, time, version, token in sorted(draw(st.sets(parts, max_size=12)))
    ]
    planned = draw(st.dictionaries(file_ids, st.just("025")))
    ends = st.sampled_from(["015", "025", "035", "045"])
    completed = draw(st.none() | st.dictionaries(st.sampled_from(TIMES), ends))
    return base_files, log_files, planned, completed


def grouped(base_files, log_files, planned, completed):
    return group_files(
        "p",
        base_files,
        log_files,
        pending_compactions=planned,
        completion_time=None if completed is None else completed.get,
    )


@given(groupings(), st.randoms())
def test_file_groups_ignore_the_order_of_files(grouping, random):
    base_files, log_files, *known = grouping
    expected = grouped(base_files, log_files, *known)
    random.shuffle(base_files)
    random.shuffle(log_files)
    assert grouped(base_files, log_files, *known) == expected
    file_ids = [group.file_id for group in expected]
    assert file_ids == sorted(file_ids)


@given(groupings())
def test_every_log_file_belongs_to_one_slice(grouping):
    groups = grouped(*grouping)
    found = [f.path for g in groups for s in g.slices for f in s.log_files]
    assert sorted(found) == sorted(f.path for f in grouping[1])


@given(tables())
def test_log_files_of_a_slice_are_in_the_order_in_which_they_apply(table):
    for file_slice in open_table(MemoryStorage(table.files)).slices.as_of():
        order = [(f.instant_time, f.version, f.write_token) for f in file_slice.log_files]
        assert order == sorted(order)


@given(tables())
def test_at_most_one_slice_of_a_group_is_read_and_each_file_once(table):
    view = open_table(MemoryStorage(table.files))
    slices = view.slices.as_of()
    groups = [(s.partition_path, s.file_id) for s in slices]
    assert len(groups) == len(set(groups))
    paths = [f.path for s in slices for f in s.log_files]
    assert len(paths) == len(set(paths))
