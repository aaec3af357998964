"""Log files to the records in them."""
