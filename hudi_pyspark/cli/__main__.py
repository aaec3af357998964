"""`python -m hudi_pyspark.cli` is `hudi-py`."""

from hudi_pyspark.cli import main

if __name__ == "__main__":
    main()
