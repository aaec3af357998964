"""What to read, and how one file slice becomes Arrow batches."""
