"""Golden tables, random filters, and indexes on and off: never fewer rows."""
