"""Tables about a table: what happened to it, what there is, what is in a log file."""

from __future__ import annotations

from hudi_pyspark.inspection.call import InspectionCall, inspection_names
from hudi_pyspark.inspection.inspection import Inspection

__all__ = ["Inspection", "InspectionCall", "inspection_names"]
