"""Whether hudi-py is given the condition of a query as its option ``filter``.

If not, the condition is applied to what was read: by Spark, or by pyarrow.
"""

FILTER_OPTION = True
