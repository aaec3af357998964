"""Which files are the table at an instant."""
