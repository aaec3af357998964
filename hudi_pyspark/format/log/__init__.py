"""Log files: their blocks, and the records and deletes in them."""
