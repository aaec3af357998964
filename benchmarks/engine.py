"""The process of one engine, which reads requests and writes answers as JSON lines.

    python -m benchmarks.engine ENGINE [ARGUMENTS OF THE ENGINE]

The process stays alive between queries, so that the engine stays warm. Only answers go to its
standard output; all other output goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Protocol

from benchmarks.queries import Condition, Kind, Query

if TYPE_CHECKING:
    from collections.abc import Mapping

# By name, since each process imports only the libraries of its engine.
MODULES = {
    "hudi-jvm": "benchmarks.spark_engines:HudiJvm",
    "spark-parquet": "benchmarks.spark_engines:SparkParquet",
    "hudi-py-spark": "benchmarks.spark_engines:HudiPySpark",
    "hudi-py-user": "benchmarks.spark_engines:HudiPyUser",
    "hudi-py-connect": "benchmarks.spark_engines:HudiPyUser",
    "hudi-py": "benchmarks.arrow_engines:HudiPy",
    "hudi-rs": "benchmarks.arrow_engines:HudiRs",
    "pyarrow": "benchmarks.arrow_engines:BarePyarrow",
    "hudi-py-duckdb": "benchmarks.sql_engines:HudiPyDuckdb",
    "hudi-py-polars": "benchmarks.sql_engines:HudiPyPolars",
    "base-files-duckdb": "benchmarks.sql_engines:BaseFilesDuckdb",
    "hudi-rs-datafusion": "benchmarks.sql_engines:HudiRsDatafusion",
}

Answer = dict[str, Any]  # numbers by name, which must be equal for all engines


class Engine(Protocol):
    """One reader of tables, started by its constructor."""

    def run(self, path: str, query: Query) -> Answer: ...

    def check(self, path: str, query: Query) -> Answer:
        """Return the number of rows and some sums, for a query that discards its rows."""
        ...


def parse_query(fields: Mapping[str, Any]) -> Query:
    condition = fields["condition"]
    parsed = Condition(**{**condition, "values": tuple(condition["values"])}) if condition else None
    columns = tuple(fields["columns"]) if fields["columns"] else None
    named = {"kind": Kind(fields["kind"]), "condition": parsed, "columns": columns}
    return Query(**{**fields, **named})


def answer(engine: Engine, request: Mapping[str, Any]) -> Answer:
    query = parse_query(request["query"])
    begin = time.perf_counter()
    try:
        result = engine.run(request["path"], query)
        seconds = time.perf_counter() - begin
        if request["check"] and query.kind is Kind.ROWS:
            result = engine.check(request["path"], query)
    except Exception as error:  # noqa: BLE001 - any failure of an engine is its answer
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"[:400]}
    return {"seconds": seconds, "result": result}


def serve(name: str, arguments: list[str], replies: IO[str]) -> None:
    begin = time.perf_counter()
    module, _, kind = MODULES[name].partition(":")
    engine: Engine = getattr(import_module(module), kind)(*arguments)
    versions = getattr(engine, "versions", {})
    ready: Answer = {"seconds": time.perf_counter() - begin, "versions": versions}
    print(json.dumps(ready), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(engine, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.argv[2:], own)
