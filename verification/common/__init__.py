"""What the harnesses share: tables in archives, sessions, and shorter plans."""
