"""The table of HFiles in ``.hoodie/metadata``, merged as no other is: files and indexes."""
