"""The engines without Spark that answer SQL over all tables of a folder."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.merge_switch import IS_FIRST, OPTIONS
from benchmarks.object_store import located
from benchmarks.sql_answer import rows_answer

if TYPE_CHECKING:
    from benchmarks.queries import Query


class SqlEngine:
    """An engine that keeps the tables of a folder registered by their names."""

    def __init__(self, *packages: str) -> None:
        self.versions = {name: version(name) for name in packages}
        self.versions["python"] = sys.version.split()[0]
        self._known = ""

    def register(self, name: str, path: str) -> None:
        raise NotImplementedError

    def rows(self, sql: str) -> dict[str, Any]:
        raise NotImplementedError

    def run(self, path: str, query: Query) -> dict[str, Any]:
        if self._known != path:
            for table in Path(path).iterdir():
                self.register(table.name, located(str(table)))
            self._known = path
        return self.rows(query.sql)

    def check(self, path: str, query: Query) -> dict[str, Any]:
        return self.run(path, query)


class HudiPyDuckdb(SqlEngine):
    """This project's datasets in DuckDB."""

    def __init__(self) -> None:
        import duckdb

        super().__init__("hudi-pyspark", "duckdb")
        self._connection = duckdb.connect()

    def register(self, name: str, path: str) -> None:
        from hudi_pyspark import HudiTable

        HudiTable(path).scan(**OPTIONS).to_duckdb(name, self._connection, merge_first=IS_FIRST)

    def rows(self, sql: str) -> dict[str, Any]:
        return rows_answer(self._connection.sql(sql).fetchall())


class HudiPyPolars(SqlEngine):
    """This project's lazy frames in polars."""

    def __init__(self) -> None:
        import polars

        super().__init__("hudi-pyspark", "polars")
        self._context = polars.SQLContext()

    def register(self, name: str, path: str) -> None:
        from hudi_pyspark import scan_polars

        self._context.register(name, scan_polars(path, merge_first=IS_FIRST, **OPTIONS))

    def rows(self, sql: str) -> dict[str, Any]:
        return rows_answer(self._context.execute(sql).collect().rows())


class BaseFilesDuckdb(HudiPyDuckdb):
    """DuckDB on the latest base files alone, without a merge."""

    def register(self, name: str, path: str) -> None:
        from hudi_pyspark import HudiTable

        slices = HudiTable(path).inspect.file_slices().to_pylist()
        files = [f"{path}/{s['base_file']}" for s in slices if s["base_file"]]
        self._connection.read_parquet(files).create_view(name)


class HudiRsDatafusion(SqlEngine):
    """The package hudi, written in Rust (hudi-rs), in DataFusion."""

    def __init__(self) -> None:
        from datafusion import SessionContext

        super().__init__("hudi", "datafusion")
        self._context = SessionContext()

    def register(self, name: str, path: str) -> None:
        from hudi import HudiDataFusionDataSource

        self._context.register_table(name, HudiDataFusionDataSource(path))

    def rows(self, sql: str) -> dict[str, Any]:
        table = self._context.sql(sql).to_arrow_table()
        columns = [column.to_pylist() for column in table.columns]
        return rows_answer(zip(*columns, strict=True))
