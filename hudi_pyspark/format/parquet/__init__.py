"""Parts of Parquet that pyarrow does not offer: pages and their indexes."""
