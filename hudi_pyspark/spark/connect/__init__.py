"""Narrow scans over Spark Connect: the client sends hints with each read of a plan.

Spark Connect has no access to Spark's optimizer, but its client sends plans that name their
columns. So the client walks a plan before it is sent, and writes hints into the options of each
read: see `plan.py`. Spark applies every condition again. A column too many does no harm, and a
missing column would be a defect, so whatever the walk does not know needs all columns.
"""
