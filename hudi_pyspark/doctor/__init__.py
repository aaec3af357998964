"""Whether a table is whole, and whether this machine can read it."""
