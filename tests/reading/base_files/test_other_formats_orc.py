import datetime as dt
import decimal
import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from hudi_pyspark.errors import CorruptBaseFileError, MissingFileError, UnsupportedTypeError
from hudi_pyspark.reading.base_files.base_file import read_base_file
from hudi_pyspark.storage import ArrowStorage
from tests.memory_storage import MemoryStorage

UTC = dt.timezone.utc
PATH = "p=1/f1-0_0-1-0_001.orc"
TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "a.c": [7, 8, 9]})
# Written by Apache Spark in New York, see the README.md there.
BY_SPARK = ArrowStorage.parse(str(Path(__file__).parent / "orc"))
AT = pa.timestamp("us", "UTC")
NESTED = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.int64())]))
INSTANTS = [
    dt.datetime(1970, 1, 1, tzinfo=UTC),
    dt.datetime(2024, 1, 15, 12, 0, 0, 123456, tzinfo=UTC),
    dt.datetime(2024, 7, 15, 12, 0, 0, 500000, tzinfo=UTC),
    dt.datetime(1965, 3, 1, 23, 59, 59, 250000, tzinfo=UTC),
    None,
]


def orc_bytes(table: pa.Table, **options: object) -> bytes:
    octets = io.BytesIO()
    orc.write_table(table, octets, **options)
    return octets.getvalue()


def read(content: bytes, columns, batch_rows: int = 10) -> list[pa.Table]:
    return list(read_base_file(MemoryStorage({PATH: content}), PATH, columns, batch_rows))


def read_by_spark(name: str, columns) -> list[dict[str, list[object]]]:
    tables = read_base_file(BY_SPARK, name, columns, 10)
    return [micros(table).to_pydict() for table in tables]


def micros(table: pa.Table) -> pa.Table:
    types = [AT if pa.types.is_timestamp(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.schema.names, types, strict=True))))


def test_columns_come_in_the_order_asked_for_without_those_that_the_file_lacks():
    (table,) = read(orc_bytes(TABLE), ["b", "new", "a"])
    assert table.equals(TABLE.select(["b", "a"]))


@pytest.mark.parametrize("columns", [["a"], ["a.c"]], ids=["prefix", "dotted"])
def test_column_whose_name_begins_like_anothers_comes_alone(columns):
    (table,) = read(orc_bytes(TABLE), columns)
    assert table.equals(TABLE.select(columns))


@pytest.mark.parametrize("columns", [[], ["new"]], ids=["none-asked", "none-there"])
def test_without_columns_the_number_of_rows_is_told(columns):
    tables = read(orc_bytes(TABLE), columns, batch_rows=2)
    assert [(table.num_rows, table.num_columns) for table in tables] == [(2, 0), (1, 0)]


def test_rows_of_all_stripes_come_in_file_order_and_bounded():
    table = pa.table({"n": pa.array(range(5000)), "text": [f"{i:0200}" for i in range(5000)]})
    content = orc_bytes(table, stripe_size=65536, batch_size=100)
    assert orc.ORCFile(io.BytesIO(content)).nstripes > 1
    tables = read(content, ["n"], batch_rows=70)
    assert max(t.num_rows for t in tables) == 70
    assert pa.concat_tables(tables).column("n").to_pylist() == list(range(5000))


def test_values_of_all_types_are_as_written():
    table = pa.table(
        {
            "flag": [True, None],
            "small": pa.array([1, None], pa.int32()),
            "real": pa.array([0.5, None], pa.float32()),
            "octets": [b"\x00\xff", None],
            "day": [dt.date(1960, 2, 29), None],
            "price": pa.array([decimal.Decimal("-12.345"), None], pa.decimal128(20, 3)),
            "list": [[1, None], None],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "struct": [{"x": [{"y": "deep"}]}, None],
        }
    )
    (found,) = read(orc_bytes(table), table.schema.names)
    assert found.to_pydict() == table.to_pydict()
    assert found.schema.types == table.schema.types


def test_timestamps_by_a_writer_in_utc_are_its_instants():
    moments = [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        dt.datetime(2024, 7, 1, 1, 2, 3, 4, tzinfo=UTC),
    ]
    wall = pa.array(moments, AT).cast(pa.timestamp("us"))
    stored = pa.table({"at": wall, "ats": [[m.replace(tzinfo=None)] for m in moments]})
    (table,) = read(orc_bytes(stored), ["at", "ats"])
    assert micros(table.select(["at"])).column("at").to_pylist() == moments
    assert table.column("ats").cast(pa.list_(AT)).to_pylist() == [[moment] for moment in moments]


def test_timestamps_with_zone_keep_it():
    moment = dt.datetime(2024, 7, 1, tzinfo=UTC)
    stored = pa.table({"at": pa.array([moment], AT)})
    (table,) = read(orc_bytes(stored), ["at"])
    assert table.schema.field("at").type == pa.timestamp("ns", "UTC")
    assert table.column("at").cast(AT).to_pylist() == [moment]


@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "zstd"])
def test_timestamps_by_a_writer_in_another_zone_are_its_instants(codec):
    (found,) = read_by_spark(f"new_york_{codec}.orc", ["at", "id"])
    assert found == {"at": INSTANTS, "id": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("name", "column", "says"),
    [
        pytest.param("new_york_ambiguous", "at", "'at' .* America/New_York .*ambiguous", id="hour"),
        pytest.param("new_york_nested", "ats", "'ats' .* America/New_York", id="nested"),
        pytest.param("new_york_lz4", "at", "LZ4 .* NONE, ZLIB, SNAPPY, ZSTD", id="lz4"),
        pytest.param("far", "s", "'s' .* after 2262", id="far"),
    ],
)
def test_timestamps_that_cannot_be_told_are_refused(name, column, says):
    with pytest.raises(UnsupportedTypeError, match=f"(?s){says}"):
        read_by_spark(f"{name}.orc", [column])


def test_far_timestamps_beside_nested_columns_are_refused():
    far = pa.array([dt.datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("s"))
    nested = pa.array([[("k", [{"x": 1, "y": 2}])]], pa.map_(pa.string(), NESTED))
    content = orc_bytes(pa.table({"m": nested, "n": [1], "at": far}))
    with pytest.raises(UnsupportedTypeError, match=f"{PATH}: column 'at' .* after 2262"):
        read(content, ["at"])
    (table,) = read(content, ["n"])
    assert table.to_pydict() == {"n": [1]}


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        pytest.param(
            "new_york_nested", "at", dt.datetime(2024, 1, 15, 12, tzinfo=UTC), id="nested"
        ),
        pytest.param("new_york_lz4", "id", 1, id="lz4"),
        pytest.param("far", "at", dt.datetime(2024, 1, 15, 12, tzinfo=UTC), id="far"),
    ],
)
def test_other_columns_beside_such_timestamps_are_read(name, column, value):
    (found,) = read_by_spark(f"{name}.orc", [column])
    assert found[column][0] == value


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PAR1" * 100, id="no-orc"),
        pytest.param(orc_bytes(TABLE)[:-9], id="cut"),
    ],
)
def test_damaged_file_is_named(content):
    with pytest.raises(CorruptBaseFileError, match=f"{PATH}: not readable as ORC"):
        read(content, ["a"])


def test_unknown_zone_is_named():
    content = (Path(BY_SPARK.base_path) / "new_york_none.orc").read_bytes()
    assert content.count(b"America/New_York") == 1
    with pytest.raises(UnsupportedTypeError, match=f"{PATH}: .*'America/Not_York'.* not known"):
        read(content.replace(b"America/New_York", b"America/Not_York"), ["at"])


def test_damaged_footer_of_a_stripe_is_named():
    content = (Path(BY_SPARK.base_path) / "new_york_none.orc").read_bytes()
    damaged = content.replace(b"\x1a\x10America/New_York", b"\x1a\x7fAmerica/New_York")
    assert damaged != content
    with pytest.raises(CorruptBaseFileError, match=r"not readable as ORC: .*protobuf"):
        read(damaged, ["at"])


def test_missing_file_is_named():
    with pytest.raises(MissingFileError, match=f"{PATH} is not on the storage any more"):
        list(read_base_file(MemoryStorage({}), PATH, ["a"], 2))
