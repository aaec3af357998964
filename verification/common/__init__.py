"""What the harnesses share: frame of a run, rows, data, archives, sessions, shorter plans."""
