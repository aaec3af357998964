"""Breaks the reader on purpose and counts which of the defects its tests notice."""
