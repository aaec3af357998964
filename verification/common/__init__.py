"""What the harnesses share: the frame of a run, rows, data, archives, sessions, and shorter plans."""
