"""Tables about a table: its history, its files, and the content of its log files."""

from hudi_pyspark.inspection.call import InspectionCall
from hudi_pyspark.inspection.inspection import INSPECTION_TABLES, Inspection

__all__ = ["INSPECTION_TABLES", "Inspection", "InspectionCall"]
