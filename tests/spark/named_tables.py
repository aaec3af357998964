"""Golden tables that SQL reads by name, and how many rows Apache Hudi reads from them."""

import re
from pathlib import Path

import pyspark
import pytest

from tests.conftest import GOLDEN
from tests.golden.case import load_cases

MOR = "v9_mor_compaction_inline"
C1 = "20261121062657910"


def case_of(name):
    return next(case for case in load_cases(GOLDEN) if case.name == name)


def number_of(query):
    """Number of rows that Apache Hudi returns."""
    known = next(each for each in case_of(MOR).queries if each.name == query)
    return known.expected_rows().num_rows


def rows_of(session, source):
    return session.sql(f"SELECT count(*) FROM {source}").head()[0]


def scans(frame):
    """The columns of each scan in the physical plan."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return [
        re.sub(r"#\d+L?", "", columns).split(", ")
        for columns in re.findall(r"BatchScan [^\[]*\[(.*?)\]", plan)
    ]


def files_below(folder):
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def rows_of_stream(stream, folder):
    """Run a stream until it has read what is there, and return its rows."""
    writer = stream.writeStream.format("memory").queryName("streamed")
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    writer.start().awaitTermination()
    return stream.sparkSession.table("streamed")


def catalog_of(session):
    return (
        session._jsparkSession.sessionState()
        .catalogManager()
        .v2SessionCatalog()
        .getClass()
        .getName()
    )


HAS_CHANGES = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)
needs_changes = pytest.mark.skipif(not HAS_CHANGES, reason="Spark 4.2 introduced CHANGES")
