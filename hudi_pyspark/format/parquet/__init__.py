"""What pyarrow does not offer of Parquet: pages and their indexes."""
