"""A client of Spark Connect that gives each scan of this source what its query needs.

Spark Connect has no access to Spark's optimizer, but its client sends plans that name their
columns. So the client walks a plan before it is sent, and writes hints into the options of each
read: see `plan.py`. Spark applies everything again, so too many columns are right, and too few
would be a defect: whatever the walk does not know needs all columns.
"""
