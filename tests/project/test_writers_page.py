"""docs/writers.md says of each writer what its golden table shows."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "writers.md").read_text(encoding="utf-8")
FLINK, JAVA = "flink_v6_mor_compacted", "java_v9_mor_compaction"
STREAMER = "hudi_trips_logical_types_json_mor_read_v9_parquet_log"
RUST = "rust_v9_mor_compaction"
SECTIONS = {"Flink": FLINK, "Java client": JAVA, "Streamer": STREAMER, "hudi-rs": RUST}


@pytest.fixture
def opened(golden_table):
    def open_table(case: str) -> HudiTable:
        return HudiTable(golden_table(case))

    return open_table


def files(table: Path, ending: str) -> list[Path]:
    """Data files of a table, without its metadata."""
    found = [path for path in table.rglob(f"*{ending}*") if ".hoodie" not in path.parts]
    return sorted(
        path for path in found if path.is_file() and path.name != ".hoodie_partition_metadata"
    )


def keys_of_footer(file: Path) -> set[str]:
    return {key.decode() for key in pq.read_metadata(file).metadata}


def test_every_writer_has_a_paragraph_and_a_table_that_ships():
    assert set(SECTIONS) <= set(re.findall(r"^## (.*)$", PAGE, re.MULTILINE))
    assert {f"tests/golden/{case}" for case in SECTIONS.values()} <= set(
        re.findall(r"`(tests/golden/\w+)`", PAGE)
    )


def test_first_rows_of_flink_and_the_java_client_are_in_log_files(opened):
    for case in (FLINK, JAVA):
        table = opened(case)
        first = table.inspect.commits().to_pylist()[0]
        assert first["operation"] in ("UPSERT", "INSERT")
        then = table.scan(as_of=first["requested_time"])
        assert then.count() == first["inserts"]
        assert table.scan(as_of=first["requested_time"], query_type="read_optimized").count() == 0


def test_file_groups_of_flink_end_without_a_number_and_have_no_metadata_table(golden_table):
    table = golden_table(FLINK)
    assert all(re.match(r"[0-9a-f-]{36}_", file.name) for file in files(table, ".parquet"))
    assert not (table / ".hoodie" / "metadata").exists()
    properties = (table / ".hoodie" / "hoodie.properties").read_text()
    assert "hoodie.table.create.schema=" in properties
    assert "timestamp-millis" in properties


def test_java_client_has_no_tasks_and_keeps_the_types_of_avro(golden_table, opened):
    table = golden_table(JAVA)
    names = [file.name for file in [*files(table, ".parquet"), *files(table, ".log.")]]
    assert all("_0-0-0" in name for name in names)
    for file in files(table, ".parquet"):
        assert pq.read_schema(file).field("at").type == pa.timestamp("ms", "UTC")
        assert "parquet.avro.schema" in keys_of_footer(file)
        assert not {key for key in keys_of_footer(file) if "spark" in key}
    assert opened(JAVA).schema.field("ref").type == pa.string()


def test_commits_of_the_streamer_keep_where_its_source_was_read(golden_table, opened):
    table = opened(STREAMER)
    kept = [
        dict(row["extra_metadata"] or ())
        for row in table.inspect.commits().to_pylist()
        if row["action"] == "deltacommit"
    ]
    keys = {"deltastreamer.checkpoint.key", "streamer.checkpoint.key.v2"}
    assert all(keys & set(found) for found in kept)
    assert keys <= {key for found in kept for key in found}
    assert "_hoodie_is_deleted" in table.schema.names
    assert table.schema.field("local_ts_millis").type == pa.timestamp("us")
    stored = files(golden_table(STREAMER), ".parquet")[0]
    assert pq.read_schema(stored).field("local_ts_millis").type == pa.int64()


def test_hudi_rs_writes_parquet_blocks_and_a_metadata_table(golden_table, opened):
    blocks = opened(RUST).inspect.log_blocks().to_pylist()
    table = golden_table(RUST)
    by_spark = {row["requested_time"] for row in opened(RUST).inspect.commits().to_pylist()[-2:-1]}
    types = {block["type"] for block in blocks if block["instant_time"] not in by_spark}
    assert types <= {"PARQUET_DATA_BLOCK", "DELETE_BLOCK"}
    assert "PARQUET_DATA_BLOCK" in types
    assert any("ARROW:schema" in keys_of_footer(file) for file in files(table, ".parquet"))
    indexes = {path.name for path in (table / ".hoodie" / "metadata").iterdir()}
    assert {"files", "column_stats", "partition_stats", "record_index"} <= indexes
