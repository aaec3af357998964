"""Random queries, in sessions whose scans are narrowed and on copies of the same rows."""
