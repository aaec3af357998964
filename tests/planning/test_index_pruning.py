"""File slices that statistics and the record index rule out: fewer files, the same rows."""

import datetime as dt
import shutil
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError, UnsupportedQueryError
from hudi_pyspark.filter.evaluation import ColumnBounds, may_match_merged
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.format.nested_types import MILLISECONDS
from hudi_pyspark.format.timeline.instant_metadata import commit_metadata_of
from hudi_pyspark.metadata_table.column_stats import (
    BoundsCache,
    bounds_of_files,
)
from hudi_pyspark.metadata_table.listing import MetadataListing
from hudi_pyspark.metadata_table.records import column_keys, file_key, partition_keys
from hudi_pyspark.planning.pruning import prune_by_indexes
from hudi_pyspark.planning.slice_tasks import SliceQuery
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from hudi_pyspark.table.timeline import CommittedTimes
from hudi_pyspark.table.view import open_table
from tests.conftest import GOLDEN
from tests.damage import set_property
from tests.planning.indexed import answer_of_hudi, pruned
from tests.process_state import drawn_state

INDEXED = ["v6_mor_mdt_indexes", "v9_mor_mdt_indexes"]
WITHOUT = {"use_metadata_table": False, "data_skipping": False}


def rows_of(table):
    return sorted(map(str, table.to_pylist()))


@pytest.fixture(params=INDEXED)
def table(request, golden_table):
    return HudiTable(str(golden_table(request.param)))


def test_every_filter_of_stored_values_finds_the_rows_of_plain_python(table):
    rows = table.scan().to_arrow().to_pylist()
    checked = 0
    for column in rows[0]:
        values = {row[column] for row in rows if isinstance(row[column], str | int)}
        for value in sorted(values, key=str)[:8]:
            literal = (
                repr(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
            )
            for sign, keep in (("=", value.__eq__), ("<", value.__gt__), (">=", value.__le__)):
                found = table.scan(filter=f"`{column}` {sign} {literal}").to_arrow()
                expected = [r for r in rows if r[column] is not None and keep(r[column]) is True]
                assert rows_of(found) == sorted(map(str, expected)), (column, sign, value)
                checked += 1
    assert checked > 50


def test_record_index_leaves_the_file_group_of_a_key(table):
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    scan = table.scan(filter=f"_hoodie_record_key = '{key}'", unique_keys=True)
    assert " file slices by the record index" in pruned(scan)
    assert len(scan.plan()) == 1
    assert scan.to_arrow()["_hoodie_record_key"].to_pylist() == [key]


def test_record_index_decides_nothing_where_keys_may_repeat(table):
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    text = f"_hoodie_record_key = '{key}'"
    scan = table.scan(filter=text, data_skipping="record_index")
    assert "nothing by the record index, which may lack rows (see trust_indexes)" in pruned(scan)
    assert len(scan.plan()) == len(table.scan().plan())
    assert "record index" not in pruned(table.scan(filter="ts > 0"))


def test_key_that_the_record_index_lacks_is_left_to_the_files(table):
    options = {"data_skipping": "record_index", "unique_keys": True}
    scan = table.scan(filter="_hoodie_record_key = 'nobody'", **options)
    assert len(scan.plan()) == len(table.scan().plan())
    assert scan.to_arrow().num_rows == 0


def test_one_key_that_the_record_index_lacks_leaves_all_slices(table):
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    text = f"_hoodie_record_key IN ('{key}', 'nobody')"
    scan = table.scan(filter=text, data_skipping="record_index", unique_keys=True)
    assert len(scan.plan()) == len(table.scan().plan())
    assert scan.to_arrow()["_hoodie_record_key"].to_pylist() == [key]


@pytest.mark.parametrize("partition", ["record_index", "column_stats", "bloom_filters"])
def test_index_whose_folder_is_missing_is_left_aside(golden_table, tmp_path, partition):
    path = shutil.copytree(golden_table(INDEXED[1]), tmp_path / "table")
    shutil.rmtree(path / f".hoodie/metadata/{partition}")
    table = HudiTable(str(path))
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    text = f"_hoodie_record_key = '{key}'"
    scan = table.scan(filter=text, data_skipping=partition, unique_keys=True)
    assert "not the metadata table's indexes: " in pruned(scan)
    assert scan.to_arrow()["_hoodie_record_key"].to_pylist() == [key]


def test_index_without_any_file_is_left_aside(golden_table, tmp_path):
    """As where the properties name an index that was never built."""
    path = shutil.copytree(golden_table("v9_mor_compaction_inline"), tmp_path / "table")
    properties = path / ".hoodie/hoodie.properties"
    old = HudiTable(str(path)).config.properties["hoodie.table.metadata.partitions"]
    assert "record_index" not in old
    set_property(path, "hoodie.table.metadata.partitions", f"{old},record_index")
    assert "record_index" in properties.read_text()
    table = HudiTable(str(path))
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    scan = table.scan(filter=f"_hoodie_record_key = '{key}'", unique_keys=True)
    assert "record_index has no files, although" in pruned(scan)
    assert scan.to_arrow()["_hoodie_record_key"].to_pylist() == [key]


def test_indexes_can_be_turned_off(table):
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    text = f"_hoodie_record_key = '{key}'"
    scan = table.scan(filter=text, unique_keys=True, **WITHOUT)
    assert " by the record index" not in pruned(scan)
    assert len(scan.plan()) > 1


def test_time_travel_asks_no_index(table):
    first = table.inspect.commits()["requested_time"][0].as_py()
    key = table.scan(["_hoodie_record_key"]).to_arrow()[0][0].as_py()
    scan = table.scan(filter=f"_hoodie_record_key = '{key}'", as_of=first, unique_keys=True)
    assert " by the record index" not in pruned(scan)


@pytest.mark.parametrize("name", [*INDEXED, "v9_mor_compaction_inline", "v6_mor_part_basic"])
def test_lookup_finds_the_rows_of_keys(golden_table, name):
    table = HudiTable(str(golden_table(name)))
    rows = table.scan().to_arrow().to_pylist()
    wanted = [row["_hoodie_record_key"] for row in rows[::3]]
    expected = sorted(str(row) for row in rows if row["_hoodie_record_key"] in wanted)
    assert rows_of(table.lookup([*wanted, "nobody"])) == expected
    assert table.lookup(wanted, ["_hoodie_record_key"]).num_columns == 1


def test_lookup_takes_the_value_of_a_single_key_field(golden_table):
    table = HudiTable(str(golden_table(INDEXED[1])))
    (field,) = table.config.record_key_fields
    value = table.scan([field]).to_arrow()[0][0].as_py()
    assert table.lookup([value], [field]).to_pylist() == [{field: value}]


def test_lookup_takes_one_key(golden_table):
    table = HudiTable(str(golden_table(INDEXED[1])))
    first, second = table.scan(["_hoodie_record_key"], limit=2).to_arrow()[0].to_pylist()
    assert len(first) > 1  # its letters are not keys
    assert table.lookup(first, ["_hoodie_record_key"])[0].to_pylist() == [first]
    assert table.lookup(1).num_rows == 0
    assert table.lookup(iter([first, second])).num_rows == 2


@pytest.mark.parametrize("key", [True, 2.5, None, b"k1", dt.date(2024, 1, 1)])
def test_lookup_refuses_keys_that_java_spells_in_another_way(golden_table, key):
    table = HudiTable(str(golden_table(INDEXED[1])))
    for keys in (key, ["k1", key]):
        with pytest.raises(InvalidOptionError, match=f"of type {type(key).__name__}: give text"):
            table.lookup(keys)


def test_lookup_needs_stored_keys(golden_table):
    table = HudiTable(str(golden_table("v9_mor_no_meta_fields_complex")))
    with pytest.raises(UnsupportedQueryError, match="filter on its key fields instead"):
        table.lookup(["1"])


def test_metadata_table_is_opened_once_for_files_and_indexes(table, monkeypatch):
    opened = []

    def watched(storage):
        opened.append(storage)
        return open_table(storage)

    monkeypatch.setattr("hudi_pyspark.metadata_table.table.open_table", watched)
    for value in range(2):
        scan = table.scan(filter=f"ts > {value}")
        assert "by column statistics" in pruned(scan)
    assert len(opened) == 1


def test_metadata_table_that_lacks_committed_files_has_no_index_to_rely_upon(table):
    listing = MetadataListing(table._view)
    listing.relist(listing.partitions()[0], "a committed file")
    with pytest.raises(CorruptTableError, match="lacks committed files"):
        listing.indexed_by()


def wrapped(statistics):
    """Return statistics as Arrow has them: a bound is a union, whose branches wrap a value."""
    bounds = {
        name: statistics[name] and {"member0": statistics[name]}
        for name in ("minValue", "maxValue")
    }
    return pa.array([{**statistics, **bounds}])


@pytest.mark.parametrize(
    ("zero", "kind"), [(0, pa.int32()), (False, pa.bool_()), (b"\0", pa.decimal128(8, 2))]
)
def test_bounds_of_zero_are_those_of_a_footer_without_any(zero, kind):
    kinds = {"typeOrdinal": 10 if isinstance(zero, bytes) else 0, "additionalInfo": "8,2"}
    bound = {"value": zero}
    statistics = {"minValue": bound, "maxValue": bound, "nullCount": 0, "valueCount": 3}
    bounds = bounds_of_files(wrapped({**statistics, "valueType": kinds}), pa.field("a", kind))
    assert (bounds.low.null_count, bounds.high.null_count) == (1, 1)
    assert bounds.may_have_value.tolist() == [True]


WIDE = 12345678901234567890123456789012345678


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [0, 1, 18, 38, -2])
@pytest.mark.parametrize("unscaled", [WIDE, 10**38 - 1, 10**28, 12345678901234567890123456789])
def test_bounds_of_decimals_are_exact_in_any_context(unscaled, scale, seed):
    digits = len(str(unscaled))
    kind = pa.decimal128(38, scale)
    if scale < 0:  # 123 of scale -2 is 12300, which a column of 38 digits may hold
        unscaled = unscaled // 100
        kind = pa.decimal128(38, 0)
    statistics = {
        "minValue": {"value": (-unscaled).to_bytes(17, "big", signed=True)},
        "maxValue": {"value": unscaled.to_bytes(17, "big", signed=True)},
        "nullCount": 0,
        "valueCount": 3,
        "valueType": {"typeOrdinal": 10, "additionalInfo": f"{digits},{scale}"},
    }
    with drawn_state(Random(seed)):
        bounds = bounds_of_files(wrapped(statistics), pa.field("a", kind))
    exact = Fraction(unscaled) / Fraction(10) ** scale
    assert [Fraction(of[0].as_py()) for of in (bounds.low, bounds.high)] == [-exact, exact]


@pytest.mark.parametrize("info", [None, "", "38", "38,x", "38,18,1", "38,9999"])
def test_decimals_without_a_scale_have_no_bounds(info):
    bound = {"value": b"\x01"}
    statistics = {
        "minValue": bound,
        "maxValue": {"value": b"\x02"},
        "nullCount": 0,
        "valueCount": 3,
    }
    kinds = {"typeOrdinal": 10, "additionalInfo": info}
    found = bounds_of_files(
        wrapped({**statistics, "valueType": kinds}), pa.field("a", pa.decimal128(38, 18))
    )
    assert (found.low.null_count, found.high.null_count) == (1, 1)


LOCAL = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")
# Ordinals of Apache Hudi's ValueType; instants and local timestamps each in two units.
ORDINALS = {"long": 3, "millis": 15, "micros": 16, "local-millis": 18, "local-micros": 19}


@pytest.mark.parametrize(
    ("field", "known"),
    [
        (pa.field("t", LOCAL, metadata=MILLISECONDS), {"local-millis"}),
        (pa.field("t", LOCAL), {"local-micros"}),
        (pa.field("t", INSTANT, metadata=MILLISECONDS), {"millis"}),
        (pa.field("t", INSTANT), {"millis", "micros"}),
    ],
)
def test_statistics_in_another_unit_than_the_column_are_left_aside(field, known):
    for kind, ordinal in ORDINALS.items():
        bound = {"value": 1_700_000_000_000}
        statistics = {"minValue": bound, "maxValue": bound, "nullCount": 0, "valueCount": 3}
        kinds = {"typeOrdinal": ordinal, "additionalInfo": None}
        bounds = bounds_of_files(wrapped({**statistics, "valueType": kinds}), field)
        assert (bounds.low.null_count == 0) == (kind in known), kind


def test_slices_with_log_files_are_left_out_by_the_statistics_of_all_their_files(golden_table):
    table = HudiTable(str(golden_table("v9_mor_mdt_indexes")))
    with_logs = [s for s in table.inspect.file_slices().to_pylist() if s["log_files"]]
    assert with_logs
    nothing = table.scan(filter="ts > 99999999999999", data_skipping="column_stats")
    assert pruned(nothing) == "5 of 5 file slices by column statistics"
    _, rows = answer_of_hudi("v9_mor_mdt_indexes", folder=GOLDEN)
    for row in rows:
        found = table.scan(filter=f"ts = {row['ts']}", data_skipping="column_stats").to_arrow()
        assert row["id"] in found.column("id").to_pylist()


def test_slices_with_log_files_of_appending_versions_are_kept(golden_table):
    table = HudiTable(str(golden_table("v6_mor_mdt_indexes")))
    slices = table.inspect.file_slices().to_pylist()
    alone = sum(not s["log_files"] for s in slices)
    assert len(slices) - alone > 0
    nothing = table.scan(filter="ts > 99999999999999", data_skipping="column_stats")
    assert pruned(nothing) == f"{alone} of {len(slices)} file slices by column statistics"


@pytest.mark.parametrize(
    ("condition", "may_match"),
    [
        ("a = 2 AND b = 9", True),  # a partial record may have b, and the base file a
        ("a = 2 AND b = 20", False),
        ("a = 5", False),  # between the files' bounds, in none of them
        ("a = 5 OR b = 9", True),
        ("c = 1", True),  # without statistics
    ],
)
def test_values_of_a_merged_row_may_come_from_different_files(condition, may_match):
    def bounds(low, high):
        is_known = np.ones(len(low), np.bool_)
        return ColumnBounds(pa.array(low), pa.array(high), ~is_known, is_known)

    # Of each slice the base file and the log file; of the second one both are far above.
    columns = {
        "a": bounds([1, 7, 90, 90], [3, 8, 99, 99]),
        "b": bounds([1, 9, 90, 90], [3, 9, 99, 99]),
    }
    schema = pa.schema([(name, pa.int64()) for name in "abc"])
    predicate = parse_filter(condition, schema)
    found = may_match_merged(predicate, columns, np.array([0, 0, 1, 1]), 2)
    assert found.tolist() == [may_match, condition == "c = 1"]


def test_file_without_statistics_keeps_its_slice():
    unknown = pa.nulls(2, pa.int64())
    column = ColumnBounds(unknown, unknown, np.ones(2, np.bool_), np.ones(2, np.bool_))
    for condition in ("a = 1", "a IN (1, 2)", "a IS NULL", "a IS NOT NULL", "a < 0"):
        predicate = parse_filter(condition, pa.schema({"a": pa.int64()}))
        assert may_match_merged(predicate, {"a": column}, np.array([0, 1]), 2).all()


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.decimal128(9, 2), pa.binary()])
def test_values_that_hudi_counts_as_nulls_rule_nothing_out(kind):
    """Values that Apache Hudi does not compare, or that Parquet writes no statistics of."""
    counted = {"minValue": None, "maxValue": None, "nullCount": 2, "valueCount": 2}
    bounds = bounds_of_files(wrapped(counted), pa.field("a", kind))
    assert bounds.may_be_null.tolist() == [True]
    assert bounds.may_have_value.tolist() == [True]


def test_bounds_of_texts_beside_nulls_are_unknown():
    """Of row groups with long texts Apache Hudi counts nulls, and takes the bounds of others."""
    of_others = {"minValue": {"value": "a"}, "maxValue": {"value": "b"}, "valueCount": 4}
    for nulls, low in ((0, "a"), (2, None)):
        statistics = wrapped({**of_others, "nullCount": nulls})
        bounds = bounds_of_files(statistics, pa.field("a", pa.string()))
        assert bounds.low.to_pylist() == [low]


@pytest.mark.parametrize(
    ("low", "high", "kind", "may_be_null"),
    [
        ("7", "x", pa.int32(), True),  # text: null where it is no number
        ("7", "x", pa.float64(), True),
        ("7", "x", pa.date32(), True),
        (b"\x01", b"\x7f" * 5, pa.decimal128(5, 2), True),  # some do not fit
        (b"\x01", b"\x7f", pa.decimal128(5, 2), False),
        (1, 9, pa.int32(), False),
        (1.5, 2.5, pa.float64(), False),
        (1, 9, pa.string(), False),
    ],
)
def test_null_counts_of_another_type_do_not_prove_that_no_value_becomes_null(
    low, high, kind, may_be_null
):
    is_decimal = isinstance(low, bytes)
    statistics = {
        "minValue": {"value": low},
        "maxValue": {"value": high},
        "nullCount": 0,
        "valueCount": 3,
        "valueType": {"typeOrdinal": 10 if is_decimal else 0, "additionalInfo": "12,2"},
    }
    bounds = bounds_of_files(wrapped(statistics), pa.field("a", kind))
    assert bounds.may_be_null.tolist() == [may_be_null]


class Layer:
    """Entries of one writer, whose schema has some of Hudi's wrappers of a value."""

    hfile = True

    def __init__(self, key, wrappers, value):
        self.keys = pa.array([key])
        # As the Avro decoder makes them: where a wrapper is null, so is the value in it.
        arrays = [
            pa.StructArray.from_arrays(
                [pa.array([value if name == "int" else None], pa.int32())],
                fields=[pa.field("value", pa.int32(), nullable=False)],
                mask=pa.array([name != "int"]),
            )
            for name in wrappers
        ]
        bound = pa.StructArray.from_arrays(arrays, names=wrappers)
        fields = {"minValue": bound, "maxValue": bound, "isDeleted": pa.array([False])}
        statistics = pa.StructArray.from_arrays([*fields.values()], names=[*fields])
        self._table = pa.table({"key": self.keys, "ColumnStatsMetadata": statistics})

    def decode(self, _columns):
        return self._table


def bounds_of(slices, layers, commits):
    """Bounds of the columns of slices, whose statistics are in these layers.

    ``commits`` maps requested times to functions that read their metadata.
    """
    history: Any = SimpleNamespace(
        committed=CommittedTimes(frozenset(commits), ""),
        metadata_of=lambda times: {time: commits[time]() for time in times},
    )
    return BoundsCache(slices, history, lambda _keys: iter([layers]))


def test_statistics_of_releases_with_other_schemas_are_put_together():
    files = [BaseFile(f"p/{n}.parquet", n, "1", 1) for n in ("old", "new")]
    slices = [FileSlice("p", file.file_id, "1", file, ()) for file in files]
    keys = [column_keys(["x"])["x"] + partition_keys({"p"})["p"] + file_key(f) for f in files]
    layers = [Layer(keys[0], ["int", "long"], 3), Layer(keys[1], ["int", "long", "date"], 7)]
    known = bounds_of(slices, layers, {})
    fields = {"x": pa.field("x", pa.int32())}
    assert known.may_match(parse_filter("x > 5", pa.schema(fields.values())), fields) == [
        False,
        True,
    ]
    assert known.columns["x"].low.to_pylist() == [3, 7]


@pytest.mark.parametrize(
    ("operation", "counts", "is_left_out"),
    [
        ("DELETE", {"numDeletes": 3}, True),
        ("DELETE_PREPPED", {"numDeletes": 3}, True),
        ("DELETE", {"numDeletes": 3, "numWrites": 1}, False),
        ("DELETE", {}, False),
        ("UPSERT", {"numDeletes": 3}, False),
    ],
)
def test_logs_of_deletes_keep_no_slice(operation, counts, is_left_out):
    """Apache Hudi writes statistics without bounds for them, as for other logs now and then."""
    base = BaseFile("p/f_1-0-1_1.parquet", "f", "1", 1)
    log = LogFile("p/.f_2.log.1_1-0-1", "f", "2", 1, "1-0-1", 10)
    slices = [FileSlice("p", "f", "1", base, (log,))]
    keys = [column_keys(["x"])["x"] + partition_keys({"p"})["p"] + file_key(f) for f in (base, log)]
    layers = [Layer(keys[0], ["int"], 3), Layer(keys[1], ["int"], None)]
    stat = {"fileId": "f", "path": log.path, **counts}
    written = {"partitionToWriteStats": {"p": [stat]}, "operationType": operation}
    known = bounds_of(slices, layers, {"2": lambda: commit_metadata_of(written)})
    fields = {"x": pa.field("x", pa.int32())}
    schema = pa.schema(fields.values())
    for text in ("x > 5", "x IS NULL", "x <> 3"):
        may_match = known.may_match(parse_filter(text, schema), fields)
        assert may_match == [not is_left_out or text == "x IS NULL"], text
    assert known.may_match(parse_filter("x = 3", schema), fields) == [True]


def test_column_without_any_bounds_reads_no_commit():
    log = LogFile("p/.f_2.log.1_1-0-1", "f", "2", 1, "1-0-1", 10)
    slices = [FileSlice("p", "f", "1", BaseFile("p/f_1-0-1_1.parquet", "f", "1", 1), (log,))]
    read: list[str] = []
    known = bounds_of(slices, [], {"2": lambda: read.append("2")})
    fields = {"x": pa.field("x", pa.int32())}
    predicate = parse_filter("x > 5", pa.schema(fields.values()))
    assert known.may_match(predicate, fields) == [True]
    assert read == []


def test_log_files_from_before_an_upgrade_keep_their_slice(golden_table):
    """Several commits may have appended to them, so statistics may be those of one."""
    table = HudiTable(str(golden_table("v9_mor_mdt_indexes")))
    planner = table.scan(data_skipping="column_stats")._query.planner
    query = SliceQuery(
        table.schema, "", predicate=parse_filter("ts > 99999999999999", table.schema)
    )
    slices = table._view.slices.as_of()
    assert prune_by_indexes(planner, slices, query, by_key=True)[0] == []
    appended = [
        replace(
            s, log_files=tuple(replace(f, instant_time=s.base_instant_time) for f in s.log_files)
        )
        for s in slices
    ]
    kept, _ = prune_by_indexes(planner, appended, query, by_key=True)
    assert kept == [s for s in appended if s.log_files and s.base_file] != []
