"""Which base rows log records are to find: by the headers of their blocks."""

import pytest

from hudi_pyspark.reading.slice_merge import RowIdentity
from tests.reading.log_records.log_files import KEY, data_block, delete_block, framed
from tests.reading.test_slice_reader import AVRO, task

ROW = {KEY: "a", "ts": 1, "v": "log", "p": "sf"}
WITH_POSITIONS = data_block(AVRO, [ROW], positions=[0])
WITH_KEYS = delete_block([("b", None)])
OF_ANOTHER_FILE = data_block(AVRO, [ROW], positions=[0], positions_base="000")


@pytest.mark.parametrize(
    ("blocks", "identity"),
    [
        pytest.param([], RowIdentity.BY_KEY, id="no-block"),
        pytest.param([WITH_KEYS], RowIdentity.BY_KEY, id="keys"),
        pytest.param([WITH_POSITIONS, WITH_POSITIONS], RowIdentity.BY_POSITION, id="positions"),
        pytest.param([WITH_POSITIONS, WITH_KEYS], RowIdentity.MIXED, id="both"),
        pytest.param([OF_ANOTHER_FILE], RowIdentity.BY_KEY, id="positions-in-another-file"),
    ],
)
def test_headers_of_blocks_say_what_identifies_base_rows(blocks, identity):
    assert RowIdentity.of(task(version=9), framed(*blocks)) is identity


def test_keys_identify_base_rows_without_a_base_file_or_if_positions_are_not_wanted():
    blocks = framed(WITH_POSITIONS)
    assert RowIdentity.of(task(version=9, base=None), blocks) is RowIdentity.BY_KEY
    by_option = task(version=9, use_record_positions=False)
    assert RowIdentity.of(by_option, blocks) is RowIdentity.BY_KEY
