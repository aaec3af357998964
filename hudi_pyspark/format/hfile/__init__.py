"""HFiles: sorted keys and their values, in blocks that an index finds."""
