"""Filters: predicates, and the files and rows that these rule out before a row is read."""
