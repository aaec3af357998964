"""What the package keeps in a process between reads, emptied for a test."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

KEPT = {
    "mergers": ("hudi_pyspark.custom_mergers", "_registered"),
    "credentials": ("hudi_pyspark.storage.credentials", "_cached_credentials"),
    "stores of outcomes": ("hudi_pyspark.reading.merge.outcome", "_in_use"),
    "uses of folders": ("hudi_pyspark.reading.merge.outcome_files", "_uses"),
    "warnings of folders": ("hudi_pyspark.reading.merge.outcome_files", "_warned"),
}

# Functions that show a message once per process.
_ONCE = {
    "hudi_pyspark.spark.optimizer": "log_once",
    "hudi_pyspark.spark.reader": "warn_of_all_columns",
}


def forget_messages() -> None:
    """Let messages come again that the process has shown, as in a new process."""
    for module, function in _ONCE.items():
        if module in sys.modules:  # the others import PySpark
            getattr(sys.modules[module], function).cache_clear()


def empty(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Begin a test as a new process does; the state of before comes back after the test."""
    for name in names:
        module, variable = KEPT[name]
        state = getattr(import_module(module), variable)
        monkeypatch.setattr(f"{module}.{variable}", type(state)())
