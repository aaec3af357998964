"""Names and bytes to values: pure, without storage and without Spark."""
