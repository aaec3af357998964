"""Base files to Arrow tables."""
