import pytest

from hudi_pyspark.metadata_table.records import _merged

STATISTICS = {
    "minValue": {"value": 3},
    "maxValue": {"value": 5},
    "valueCount": 2,
    "nullCount": 0,
    "totalSize": 10,
    "totalUncompressedSize": 20,
    "isDeleted": False,
    "isTightBound": False,
}
OLDER = STATISTICS | {"minValue": {"value": 1}}


@pytest.mark.parametrize(
    ("before", "after", "least", "count"),
    [
        pytest.param(OLDER, STATISTICS, 1, 4, id="added"),
        pytest.param(OLDER | {"isDeleted": True}, STATISTICS, 3, 2, id="older-deleted"),
        pytest.param(OLDER, STATISTICS | {"isTightBound": True}, 3, 2, id="tight"),
        pytest.param(None, STATISTICS, 3, 2, id="first"),
    ],
)
def test_statistics_that_are_not_tight_add_to_older_ones_that_hold(before, after, least, count):
    merged = _merged(3, before, after)
    assert merged["minValue"] == {"value": least}
    assert merged["valueCount"] == count
