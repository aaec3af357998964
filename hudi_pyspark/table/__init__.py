"""The files that make up the table at an instant."""
