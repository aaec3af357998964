"""Random programs over a growing table, whose reads must each give one state, the expected one."""
