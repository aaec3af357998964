"""Whether hudi-py gets the condition of a query as its option ``filter``.

If not, Spark or pyarrow applies the condition to the rows that were read.
"""

FILTER_OPTION = True
