"""Read a golden table with the package that Python finds, and compare with Apache Hudi's rows.

python -I .ci/smoke.py QUERIES ANSWERS TABLE HOME [ZIP]

QUERIES are those of a golden case in JSON, each with its name, options and the file of its answer.
ANSWERS is the zip with these files, and TABLE the unzipped table. The package must come from HOME,
not for example from a checkout. ZIP is put first on `sys.path`. The script needs only the declared
dependencies of the package, and -I keeps everything else out.
"""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


def main(arguments: Sequence[str]) -> str:
    """Return one line on what was read."""
    queries, answers, table, home, *zips = arguments
    sys.path[:0] = zips

    import hudi_pyspark  # noqa: PLC0415  (after the zip is on the path)

    if not Path(hudi_pyspark.__file__).is_relative_to(home):
        sys.exit(f"hudi_pyspark comes from {hudi_pyspark.__file__}, not from {home}")
    opened = hudi_pyspark.HudiTable(table)
    # The case asks for instants before the first commit, and for ranges after the last one.
    warnings.filterwarnings("ignore", message="as.of.instant .* the first commit of the table")
    warnings.filterwarnings("ignore", message="the range begins at .* after the last commit")
    asked = json.loads(queries)
    for query in asked:
        rows = opened.scan(**query["options"]).to_arrow()
        if _sorted_rows(rows) != _sorted_rows(_rows_of(answers, query["answer"])):
            sys.exit(f"query {query['name']} of {table} gives other rows than Apache Hudi")
    return f"hudi_pyspark {hudi_pyspark.__version__}: {len(asked)} queries equal"


def _rows_of(answers: str, file: str) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    with zipfile.ZipFile(answers) as archive:
        return pq.read_table(pa.BufferReader(archive.read(file)))


def _sorted_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


if __name__ == "__main__":
    print(main(sys.argv[1:]))
