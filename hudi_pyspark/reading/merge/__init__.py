"""Merge base rows and log records to the rows of a table."""
