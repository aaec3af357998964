"""The names of the data source in Spark. Every session loads this module: it has nothing else."""

SHORT_NAME = "hudi-py"
SIGNED_NAME = f"{SHORT_NAME}-signed"
"""The name over Spark Connect, if Spark keeps a source of the first name that knows no client."""
HUDI = "hudi"
"""The name of Apache Hudi's own source, as metastores and SQL have it."""
