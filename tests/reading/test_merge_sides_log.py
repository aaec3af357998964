"""What the blocks of a slice's log say about the values that a task needs."""

from dataclasses import replace

import pytest

from hudi_pyspark.format.log.log_block import HeaderKey
from hudi_pyspark.reading.merge_sides import lacks_older_values
from tests.reading.log_records.log_files import KEY, data_block, delete_block, framed
from tests.reading.slices_in_memory import AVRO, task

ROW = {KEY: "a", "ts": 1, "v": "log", "p": "sf"}
WHOLE = data_block(AVRO, [ROW])
PARTIAL = data_block(AVRO, [ROW], more={HeaderKey.IS_PARTIAL: "true"})
DELETE = delete_block([("b", None)])


@pytest.mark.parametrize(
    ("blocks", "lacks"),
    [
        ([], False),
        ([WHOLE, DELETE], False),
        ([WHOLE, PARTIAL, DELETE], True),
        ([PARTIAL], True),
    ],
)
def test_range_lacks_older_values_if_one_of_its_blocks_has_partial_updates(blocks, lacks):
    whole = task(version=9)
    of_range = replace(whole, whole_slice=whole.file_slice)
    assert lacks_older_values(of_range, framed(*blocks)) is lacks
    assert not lacks_older_values(whole, framed(*blocks))
