"""Make the zip that Spark sends to its processes: a wheel without the tools that look at tables.

    python .ci/spark_zip.py dist/hudi_pyspark-1.0.0-py3-none-any.whl dist/hudi_pyspark.zip

Neither executors nor the data source import the tools. The dist-info, which has the version, stays.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

TOOLS = ("cli/", "doctor/", "frames/", "report/")  # in hudi_pyspark/


def write_zip(wheel: Path, target: Path) -> Path:
    """Copy a wheel without the tools, byte for byte the same for the same wheel."""
    left_out = tuple(f"hudi_pyspark/{name}" for name in TOOLS)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w") as archive:
        for entry in source.infolist():
            if not entry.filename.startswith(left_out):
                archive.writestr(entry, source.read(entry), zipfile.ZIP_DEFLATED)
    return target


if __name__ == "__main__":
    print(write_zip(*map(Path, sys.argv[1:])))
