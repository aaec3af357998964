"""The metadata table, which writers keep in ``.hoodie/metadata``: files, statistics and indexes.

It is a MERGE_ON_READ table itself: HFile base files, HFile log blocks, and a merge that no
other table has.
"""
