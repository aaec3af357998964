"""A table that grows while it is read: the answer is one instant's, wholly."""

import pickle
from typing import Any

import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable, MissingFileError
from hudi_pyspark.reading.read_slice import read_slice
from tests.growing_table import BEFORE_COMPACTION, GrowingTable, differs_from, table_at

# Case, the earlier instant, and the golden query that answers as of it.
EARLIER = [
    pytest.param("v6_mor_compaction_inline", "20261121061743601", "as_of_c1", id="v6-one-commit"),
    pytest.param(
        "v6_mor_compaction_inline", "20261121061744639", "as_of_c2_formatted", id="v6-with-logs"
    ),
    pytest.param("v6_mor_compaction_inline", "20261121061746570", "as_of_c4", id="v6-compacted"),
    pytest.param("v6_mor_replace", "20261121061837511", "as_of_c1", id="v6-later-overwritten"),
    pytest.param("v6_mor_replace", "20261121061839327", "as_of_c3", id="v6-overwritten"),
    pytest.param("v9_mor_compaction_inline", "20261121062657910", "as_of_c1", id="v9-one-commit"),
    pytest.param(
        "v9_mor_compaction_inline", "20261121062700103", "as_of_c2_formatted", id="v9-with-logs"
    ),
    pytest.param("v9_mor_compaction_inline", "20261121062703875", "as_of_c4", id="v9-compacted"),
    pytest.param("v9_mor_clustering", "20261121062949338", "as_of_c1", id="v9-later-clustered"),
    pytest.param("v9_mor_clustering", "20261121062950559", "as_of_c4", id="v9-clustered"),
]
each_earlier_state = pytest.mark.parametrize(("case", "instant", "query"), EARLIER)


def grow_after_opening(growing: GrowingTable) -> pa.Table:
    table = HudiTable(str(growing.path))
    growing.grow()
    return table.scan().to_arrow()


def grow_after_planning(growing: GrowingTable) -> pa.Table:
    scan = HudiTable(str(growing.path)).scan()
    tasks, storage = pickle.loads(pickle.dumps((scan.plan(), scan.storage)))
    growing.grow()
    return pa.concat_tables([table for task in tasks for table in read_slice(task, storage)])


def grow_while_reading(growing: GrowingTable) -> pa.Table:
    batches = HudiTable(str(growing.path)).scan(batch_rows=1).to_batches()
    first = next(batches)
    growing.grow()
    return pa.Table.from_batches([first, *batches])


def grow_between_two_reads(growing: GrowingTable) -> pa.Table:
    scan = HudiTable(str(growing.path)).scan()
    scan.count()
    growing.grow()
    return scan.to_arrow()


@each_earlier_state
@pytest.mark.parametrize(
    "grow",
    [grow_after_opening, grow_after_planning, grow_while_reading, grow_between_two_reads],
    ids=lambda grow: grow.__name__,
)
def test_answer_is_the_state_at_opening(case, instant, query, grow, tmp_path):
    growing = table_at(case, instant, tmp_path)
    assert differs_from(grow(growing), case, query) == []


@each_earlier_state
def test_table_opened_after_the_growth_has_all_of_it(case, instant, query, tmp_path):
    growing = table_at(case, instant, tmp_path)
    growing.grow()
    answer = HudiTable(str(growing.path)).scan().to_arrow()
    assert differs_from(answer, case, "snapshot") == []
    assert differs_from(answer, case, query) != [], "the growth changed nothing"


def test_read_optimized_answer_is_the_state_at_opening_too(tmp_path):
    growing = table_at("v9_mor_compaction_inline", "20261121062700103", tmp_path)
    table = HudiTable(str(growing.path))
    growing.grow()
    answer = table.scan(query_type="read_optimized").to_arrow()
    # Base files of the first commit alone, which is what was there before the second wrote logs.
    assert differs_from(answer, "v9_mor_compaction_inline", "as_of_c1") == []


def test_time_travel_answers_the_same_before_and_after_the_growth(tmp_path):
    growing = table_at("v9_mor_compaction_inline", "20261121062703875", tmp_path)
    for _ in range(2):
        answer = HudiTable(str(growing.path)).scan(as_of="20261121062657910").to_arrow()
        assert differs_from(answer, "v9_mor_compaction_inline", "as_of_c1") == []
        growing.grow()


def test_data_files_without_their_completed_instant_are_invisible(tmp_path):
    case, instant, query = BEFORE_COMPACTION
    growing = table_at(case, instant, tmp_path)
    growing.grow()
    # What a writer puts into place last; its compaction stays planned, and logs hang on its slice.
    completed = [path for path in growing.later_files if path.suffix in (".deltacommit", ".commit")]
    for path in completed:
        path.unlink()
    assert len(completed) == 4
    answer = HudiTable(str(growing.path)).scan().to_arrow()
    assert differs_from(answer, case, query) == []


def test_file_that_the_cleaner_takes_after_planning_is_named(tmp_path):
    case, instant, _ = BEFORE_COMPACTION
    growing = table_at(case, instant, tmp_path)
    scan = HudiTable(str(growing.path)).scan()
    tasks: list[Any] = list(scan.plan())
    growing.grow()
    assert growing.remove("_20261121062657910.parquet") > 0
    with pytest.raises(MissingFileError, match="is not on the storage any more") as error:
        list(read_slice(tasks[0], scan.storage))
    assert "_20261121062657910.parquet" in str(error.value)
    assert "Load the table again" in str(error.value)


def test_instant_that_is_archived_after_opening_is_named(tmp_path):
    case, instant, _ = BEFORE_COMPACTION
    growing = table_at(case, instant, tmp_path)
    table = HudiTable(str(growing.path))
    growing.grow()
    assert growing.remove("20261121062657910_") > 0
    with pytest.raises(MissingFileError, match="20261121062657910_") as error:
        table.scan().to_arrow()
    assert "again" in str(error.value)


# In Spark the instant is fixed when the first action plans the read, not yet by load(); from then
# on the DataFrame and all that is derived from it stay there. A new load() sees the growth.


@pytest.mark.spark
def test_data_frame_keeps_the_state_of_its_first_action(spark, tmp_path):
    case, instant, query = BEFORE_COMPACTION
    growing = table_at(case, instant, tmp_path)
    frame = spark.read.format("hudi-py").load(str(growing.path))
    before = frame.toArrow()
    growing.grow()
    assert differs_from(before, case, query) == []
    assert differs_from(frame.toArrow(), case, query) == []
    assert differs_from(frame.filter("id IS NOT NULL").toArrow(), case, query) == []
    again = spark.read.format("hudi-py").load(str(growing.path))
    assert differs_from(again.toArrow(), case, "snapshot") == []


@pytest.mark.spark
def test_data_frame_that_was_only_loaded_sees_the_growth_wholly(spark, tmp_path):
    case, instant, _ = BEFORE_COMPACTION
    growing = table_at(case, instant, tmp_path)
    frame = spark.read.format("hudi-py").load(str(growing.path))
    growing.grow()
    assert differs_from(frame.toArrow(), case, "snapshot") == []
