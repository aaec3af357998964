"""The names of the data source in Spark. Every session loads this module: it has nothing else."""

SHORT_NAME = "hudi-py"
HUDI = "hudi"
"""The name of Apache Hudi's own source, as metastores and SQL have it."""
