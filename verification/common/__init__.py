"""What the harnesses share: frame of a run, data, archives, sessions, look-ups, shorter plans."""
