"""Pictures of a table, drawn from the tables of `HudiTable.inspect`."""

from __future__ import annotations

from hudi_pyspark.plot.picture import Picture
from hudi_pyspark.plot.plots import Plots

__all__ = ["Picture", "Plots"]
