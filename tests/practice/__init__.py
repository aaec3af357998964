"""Tables of shapes that writers of practice leave; each folder has small tables in zip files."""
