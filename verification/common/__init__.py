"""What the harnesses share: tables in archives, sessions, answers, and shorter plans."""
