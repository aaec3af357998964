"""What tables by name cost everybody else: a session catalog of 1,000 tables, ten of Apache Hudi.

python -m benchmarks.session_catalog

Two sessions of one JVM ask the same statements in turns, one of them after
``register(spark, tables=True)``. The processor time of the JVM is printed in milliseconds per
statement, the least of all rounds.
"""

# ruff: noqa: SLF001, FBT003  (the entries are made in the JVM)

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import hudi_pyspark

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = Path(__file__).parents[1] / "examples" / "data" / "orders.zip"
ROUNDS = 15
STATEMENTS_PER_ROUND = 20


def add_copies(spark: Any, name: str, number: int) -> None:
    """Add copies of an entry to the default database."""
    metastore = spark._jsparkSession.sharedState().externalCatalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier
    entry = metastore.getTable("default", name)
    values = [entry.productElement(place) for place in range(entry.productArity())]
    for copy in range(number):
        values[0] = identifier(f"{name}_{copy}", spark._jvm.scala.Option.apply("default"))
        metastore.createTable(entry.copy(*values), True)


def processor_milliseconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Make the catalog, ask both sessions, and print a line for each statement."""
    folder = tempfile.mkdtemp()
    shutil.unpack_archive(ORDERS, folder)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    spark: Any = builder.config("spark.log.level", "ERROR").getOrCreate()
    registered, plain = spark.newSession(), spark.newSession()
    hudi_pyspark.register(registered, tables=True)
    registered.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    registered.sql(f"CREATE TABLE orders USING hudi LOCATION '{folder}/orders'")
    add_copies(registered, "plain", 989)
    add_copies(registered, "orders", 9)
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    statements: dict[str, Callable[[SparkSession], object]] = {
        "SHOW TABLES": lambda session: session.sql("SHOW TABLES").collect(),
        "SELECT of a Parquet table": lambda session: session.sql("SELECT * FROM plain_7").collect(),
        "plan of a join of Parquet tables": lambda session: (
            session.sql("SELECT * FROM plain_1 JOIN plain_2 USING (a)")
            ._jdf.queryExecution()
            .executedPlan()
        ),
    }
    for name, ask in statements.items():
        least: dict[str, float] = {}
        for _ in range(ROUNDS):
            for kind, session in (("plain", plain), ("registered", registered)):
                before = processor_milliseconds(pid)
                for _ in range(STATEMENTS_PER_ROUND):
                    ask(session)
                used = (processor_milliseconds(pid) - before) / STATEMENTS_PER_ROUND
                least[kind] = min(used, least.get(kind, used))
        print(f"{name}: {least['plain']:.1f} ms, after register {least['registered']:.1f} ms")
    spark.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
