"""Footers of Parquet files, as those who pick pages read them."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.format.parquet.pages import TAIL, ParquetPages
from hudi_pyspark.format.parquet.thrift_compact import ThriftList, ThriftStruct, ThriftType

ROW_GROUPS, COLUMNS, META_DATA, ENCODINGS, CODEC = 4, 1, 3, 2, 4


def footer_of(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="gzip", use_dictionary=False)
    octets = file.getvalue()
    return ParquetPages.parse(octets[-TAIL - int.from_bytes(octets[-TAIL:-4], "little") : -TAIL])


@pytest.mark.parametrize(("other", "expected"), [(["x", "z"], True), (["x", "y"], False)])
def test_columns_with_other_bounds_are_not_equal(other, expected):
    assert footer_of(a=["x", "z"], b=other).may_be_equal(0, (0, 1)) is expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        pytest.param(CODEC, (ThriftType.I32, 10), False, id="unknown-codec"),
        pytest.param(
            ENCODINGS,
            (ThriftType.LIST, ThriftList(ThriftType.STRUCT, (ThriftStruct(),))),
            True,
            id="encodings-of-another-type",
        ),
    ],
)
def test_damaged_columns_are_compared_without_an_error(field, value, expected):
    pages = footer_of(a=["x"], b=["x"])
    column = pages.footer.structs(ROW_GROUPS)[0].structs(COLUMNS)[0].struct(META_DATA)
    column[field] = value
    assert pages.may_be_equal(0, (0, 1)) is expected
