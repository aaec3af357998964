"""Variants that files shred, at any depth, in base files and log blocks that shred differently."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_pyspark import CorruptTableError, SchemaEvolutionError
from tests.columns.shredded import group, metadata, variants
from tests.columns.variant_oracle import decoded_in
from tests.reading.variant_tables import LOG, rows, write_table

if TYPE_CHECKING:
    from hudi_pyspark import HudiTable


def expected(number: int) -> dict[str, object]:
    tree = {"a": (3, bytes([number])), "b": ("text", b"x")}
    struct = {"n": str(number), "v": tree}
    return {"v": tree, "s": struct, "l": [tree], "m": [["'k'", tree]], "o": [struct]}


def answers(table: HudiTable, columns: list[str]) -> dict[int, object]:
    found = table.scan(["id", *columns]).to_arrow().to_pylist()
    return {row.pop("id"): decoded_in(row) for row in found}


@pytest.mark.parametrize("kind", ["a", "both", "plain"])
def test_variants_of_a_base_file_are_whole_at_any_depth(tmp_path, kind):
    table = write_table(tmp_path, rows([1, 2, 3], 1, kind))
    columns = ["v", "s", "l", "m", "o"]
    assert answers(table, columns) == {number: expected(number) for number in (1, 2, 3)}
    assert table.scan().count() == 3


@pytest.mark.parametrize("column", ["v", "s", "l", "m", "o"])
def test_files_of_a_slice_may_shred_a_column_in_different_ways(tmp_path, column):
    table = write_table(tmp_path, rows([1, 2, 3], 1, "a"), rows([2, 4], 2, "both"))
    whole = {number: {column: expected(number)[column]} for number in (1, 2, 3, 4)}
    assert answers(table, [column]) == whole
    assert answers(table, [column]) == whole  # from the kept outcome of the merge


@pytest.mark.parametrize("column", ["v", "s", "l", "m", "o"])
def test_log_blocks_in_avro_have_variants_at_any_depth(tmp_path, column):
    table = write_table(tmp_path, rows([1, 2], 1, "a"), rows([2, 3], 2, "plain"), in_avro=True)
    assert answers(table, [column]) == {n: {column: expected(n)[column]} for n in (1, 2, 3)}


def test_changes_have_whole_variants(tmp_path):
    table = write_table(tmp_path, rows([1, 2], 1, "plain"), rows([2], 2, "both"))
    scan = table.scan(["id", "v"], query_type="incremental", begin="20240101000000000")
    (row,) = scan.to_arrow().to_pylist()
    assert decoded_in(row) == {"id": "2", "v": expected(2)["v"]}


def test_images_of_changes_have_whole_variants(tmp_path):
    table = write_table(tmp_path, rows([1, 2], 1, "a"), rows([2], 2, "both"))
    changes = table.scan(cdc=True, begin="earliest")
    images = [
        decoded_in({name: b64decode(octets) for name, octets in json.loads(image)["v"].items()})
        for row in changes.to_arrow().to_pylist()
        for image in (row["before"], row["after"])
        if image
    ]
    assert images == [expected(number)["v"] for number in (1, 2, 2, 2)]


def test_log_records_are_shown_with_whole_variants(tmp_path):
    table = write_table(tmp_path, rows([1], 1, "a"), rows([2], 2, "both"))
    (row,) = table.inspect.log_records(LOG).to_pylist()
    assert decoded_in(row["record"]["v"]) == expected(2)["v"]


def test_condition_that_variants_are_null_is_answered_by_the_rows(tmp_path):
    table = write_table(tmp_path, rows([1, 2], 1, "both"))
    assert table.scan(["id"], filter="v IS NULL").count() == 0
    assert table.scan(["id"], filter="v IS NOT NULL AND id = 2").count() == 1


def test_malformed_variant_names_the_file_and_the_column(tmp_path):
    base = rows([1], 1, "a")
    groups = [{"typed_value": {"a": {"typed_value": 1}}}]
    values = variants(groups, pa.struct([("a", group(pa.int32()))]), metadata("b"))
    table = write_table(tmp_path, base.drop_columns("v").append_column("v", values))
    with pytest.raises(CorruptTableError, match=r"f-0_.*parquet: column 'v' .* the field 'a'"):
        table.scan(["v"]).to_arrow()


def test_typed_value_of_no_variant_is_refused_by_name(tmp_path):
    values = variants([{"typed_value": 1}], pa.uint8())
    table = write_table(tmp_path, rows([1], 1, "a").drop_columns("v").append_column("v", values))
    with pytest.raises(SchemaEvolutionError, match=r"parquet: column 'v' .*type uint8"):
        table.scan(["v"]).to_arrow()
