"""The name of the data source in Spark. Every session loads this module, so it has nothing else."""

from typing import Final

SHORT_NAME: Final = "hudi-py"
