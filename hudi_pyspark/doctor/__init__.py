"""Checks of a table and of this machine."""
