"""Filters: what they mean, and what they rule out before a row is read."""
