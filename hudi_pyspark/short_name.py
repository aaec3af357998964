"""The names of the data source in Spark. Every session loads this module: it has nothing else."""

from typing import Final

SHORT_NAME: Final = "hudi-py"
HUDI: Final = "hudi"
"""The name of Apache Hudi's own source, as metastores and SQL have it."""
