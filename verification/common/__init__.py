"""What the harnesses share: tables in archives, sessions, written rows, and shorter plans."""
