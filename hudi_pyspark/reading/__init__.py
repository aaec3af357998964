"""From one task to Arrow batches."""
