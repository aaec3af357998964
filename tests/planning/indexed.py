"""Golden tables with indexes: Apache Hudi's answers, and what a scan says that it left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conftest import GOLDEN
from tests.golden.case import load_case

if TYPE_CHECKING:
    from pathlib import Path

    from hudi_pyspark.scan import Scan

EXTRA = GOLDEN.with_name("golden_extra")


def answer_of_hudi(
    name: str, query: str = "snapshot", folder: Path = EXTRA
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The options of a query, and Apache Hudi's rows."""
    case = load_case(folder / name)
    (known,) = [q for q in case.queries if q.name == query]
    return known.options, known.expected_rows().to_pylist()


def pruned(scan: Scan) -> str:
    """The line of `explain()` about what the filter leaves out."""
    lines = dict(line.split(maxsplit=1) for line in scan.explain().splitlines())
    return lines["pruned"]
