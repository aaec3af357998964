"""What the data source is called in Spark."""

from __future__ import annotations

SHORT_NAME = "hudi-py"
