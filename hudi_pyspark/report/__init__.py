"""A page about a table: how it is doing, and what to do next."""
