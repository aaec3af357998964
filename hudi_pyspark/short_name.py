"""The name of the data source in Spark; every session loads it, so nothing else is in here."""

from typing import Final

SHORT_NAME: Final = "hudi-py"
