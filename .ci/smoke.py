"""Read a golden table with the package that Python finds, and compare with Apache Hudi's rows.

python -I .ci/smoke.py CASE TABLE HOME [ZIP]

CASE is the folder of a golden case, TABLE its unzipped table. The package must come from HOME, not
for example from a checkout. ZIP is put first on `sys.path`. The script needs only the declared
dependencies of the package, and -I keeps everything else out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


def main(arguments: Sequence[str]) -> str:
    """Return one line on what was read."""
    case, table, home, *zips = arguments
    sys.path[:0] = zips

    import pyarrow.parquet as pq  # noqa: PLC0415  (after the zip is on the path)

    import hudi_pyspark  # noqa: PLC0415

    if not Path(hudi_pyspark.__file__).is_relative_to(home):
        sys.exit(f"hudi_pyspark comes from {hudi_pyspark.__file__}, not from {home}")
    opened = hudi_pyspark.HudiTable(table)
    queries = json.loads(Path(case, "case.json").read_text(encoding="utf-8"))["queries"]
    for query in queries:
        rows = opened.scan_with(query["options"]).to_arrow()
        expected = pq.read_table(Path(case, query["expected"]))
        if _sorted_rows(rows) != _sorted_rows(expected):
            sys.exit(f"query {query['name']} of {case} gives other rows than Apache Hudi")
    return f"hudi_pyspark {hudi_pyspark.__version__}: {len(queries)} queries equal"


def _sorted_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


if __name__ == "__main__":
    print(main(sys.argv[1:]))
