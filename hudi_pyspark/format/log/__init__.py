"""Log files: blocks, and what they hold."""
