"""Parts of Parquet that pyarrow does not offer: checks, calendars, pages and their indexes."""
