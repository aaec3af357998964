"""Damages golden tables in every way: reads give their rows or a named error."""
