"""Readers of base files, one for each file format."""
