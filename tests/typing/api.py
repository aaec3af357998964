"""The public API as README uses it, with the types that callers may rely on.

mypy checks this file with the rest of the tests (`make types`), and `make release-check` checks it
against the installed wheel. A comment ``type: ignore[code]`` marks a mistake that must be reported:
mypy complains about one that is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from typing_extensions import assert_type

import hudi_pyspark
from hudi_pyspark import (
    CorruptLogBlockError,
    HudiError,
    HudiTable,
    Scan,
    TableNotFoundError,
)
from hudi_pyspark.doctor.finding import Findings, Severity
from hudi_pyspark.inspection import Inspection
from hudi_pyspark.inspection.description import Description
from hudi_pyspark.table.config import TableConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_table(path: str) -> HudiTable:
    table = HudiTable(path, storage_options={"region": "eu-central-1", "retries": 3})
    assert_type(table.path, str)
    assert_type(table.config, TableConfig)
    assert_type(table.config.record_key_fields, tuple[str, ...])
    assert_type(table.schema, pa.Schema)
    assert_type(table.last_instant, str)
    assert_type(table.description, Description)
    assert_type(table.is_current(), bool)
    assert_type(hudi_pyspark.__version__, str)
    return table


def read_without_spark(table: HudiTable, instant: str) -> None:
    from polars import LazyFrame

    scan = table.scan(columns=["id", "amount"], filter="amount > 10", limit=5)
    assert_type(scan, Scan)
    assert_type(table.scan(query_type="read_optimized").count(), int)
    assert_type(table.scan(as_of=instant), Scan)
    assert_type(table.scan(begin=instant, batch_rows=10_000), Scan)
    assert_type(table.changes(begin=instant, as_struct=True), Scan)
    assert_type(table.changes(begin=instant, as_changelog=True), Scan)
    assert_type(scan.schema, pa.Schema)
    assert_type(scan.to_arrow(), pa.Table)
    assert_type(scan.to_batches(threads=2), pa.RecordBatchReader)
    assert_type(scan.explain(), str)
    assert_type(table.diff(instant, instant), pa.Table)
    assert_type(hudi_pyspark.scan_polars(table, ["id"]), LazyFrame)


def convert(scan: Scan) -> None:
    import pandas as pd
    import polars as pl
    from duckdb import DuckDBPyConnection

    assert_type(scan.to_pandas(), pd.DataFrame)
    assert_type(scan.to_polars(), pl.DataFrame)
    assert_type(scan.head(), pa.Table)
    assert_type(scan.columns, list[str])
    assert_type(scan.to_duckdb("orders"), DuckDBPyConnection)


def look_inside(table: HudiTable) -> None:
    assert_type(table.inspect, Inspection)
    assert_type(table.inspect.commits(archived=True), pa.Table)
    assert_type(table.inspect.file_slices(), pa.Table)
    findings = table.doctor(deep=True)
    assert_type(findings, Findings)
    for finding in findings:
        assert_type(finding.severity, Severity)
        assert_type(finding.message, str)


def read_with_spark(spark: SparkSession, path: str) -> None:
    from pyspark.sql import DataFrame

    hudi_pyspark.register(spark)
    assert_type(hudi_pyspark.storage_options_from_spark(spark, path), dict[str, str])
    frame = hudi_pyspark.read(spark, path, ["id"], filter="id = 'a'", batch_rows=10_000)
    assert_type(frame, DataFrame)
    assert_type(HudiTable(path).scan().to_spark(spark), DataFrame)
    assert_type(hudi_pyspark.hudi_query(spark, path, "read_optimized"), DataFrame)
    changes = hudi_pyspark.hudi_table_changes(spark, path, "cdc", begin="earliest", end="2026")
    assert_type(changes, DataFrame)
    assert_type(hudi_pyspark.hudi_query_timeline(spark, path, archived=True), DataFrame)
    assert_type(hudi_pyspark.hudi_filesystem_view(spark, path, "*"), DataFrame)


def merge_by_own_rule() -> None:
    def newer_record(older: pa.Table, newer: pa.Table) -> pa.Table:  # noqa: ARG001
        return newer

    hudi_pyspark.register_payload("com.example.Latest", newer_record, columns=["amount"])


def unpack_tables(folder: str) -> None:
    hudi_pyspark.unpack_demo(folder)


def catch(path: str) -> str:
    try:
        HudiTable(path)
    except TableNotFoundError as error:
        assert_type(error.code, str)
        assert_type(error.reason(), str)
        return f"[{error.code}] {error.found} {error.advice}{error.place}"
    except CorruptLogBlockError as error:
        assert_type(error.offset, int)
    except HudiError as error:
        return error.code
    return ""


def mistakes(table: HudiTable, spark: SparkSession) -> Any:
    HudiTable(7)  # type: ignore[arg-type]
    HudiTable("orders", {"region": "eu-central-1"})  # type: ignore[call-arg]
    table.scan(["id"], "amount > 10")  # type: ignore[call-arg]
    table.scan(columns=[1])  # type: ignore[list-item]
    table.scan(limit="5")  # type: ignore[arg-type]
    table.scan().to_parquet()  # type: ignore[attr-defined]
    table.inspect.nothing()  # type: ignore[attr-defined]
    table.diff("20261121062545946")  # type: ignore[call-arg]
    hudi_pyspark.register()  # type: ignore[call-arg]
    hudi_pyspark.read(spark, "orders", filter=True)  # type: ignore[arg-type]
    hudi_pyspark.register_payload("com.example.Latest", len)  # type: ignore[arg-type]
    table.last_instant = "20261121062545946"  # type: ignore[misc]
    return table.config.no_such_property  # type: ignore[attr-defined]
