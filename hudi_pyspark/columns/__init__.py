"""Columns in the types and the texts that an answer needs."""
