"""Log files to the records that they hold."""
