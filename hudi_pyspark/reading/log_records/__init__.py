"""Records of log files, decoded into arrays."""
