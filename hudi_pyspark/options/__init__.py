"""The options of a read: from text to one typed value."""
