"""What the harnesses share: data, tables in archives, sessions, written rows, and shorter plans."""
