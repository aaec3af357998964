"""Read one task as Arrow batches."""
