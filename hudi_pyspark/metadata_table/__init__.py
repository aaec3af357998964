"""The metadata table (``.hoodie/metadata``): listings of files, and indexes, in HFiles."""
