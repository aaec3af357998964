"""Tables with buckets, which a writer of `verification.bucket_tables` makes."""

import random

from verification.bucket_tables.tables import KINDS, Writer


def add(writer, rows, partitions=None, **changes):
    names = partitions or list(writer.counts)
    rng = writer.rng
    writer.upsert([(rng.choice(names), writer.keys.draw(rng)) for _ in range(rows)], **changes)


def damaged_elsewhere(folder):
    """Write a table of base files, and damage those that neither evidence nor a look-up reads."""
    writer = Writer(
        folder / "t", random.Random(3), KINDS["counted"], is_old=False, counts={"p0": 16}
    )
    add(writer, 1200, as_base=True)
    (_, file_id), row = next(
        (group, row)
        for group, rows in writer.rows.items()
        for row in rows.values()
        if group[1].startswith("00000007")
    )
    for path in (folder / "t" / "p0").glob("*.parquet"):
        if path.name[:8] not in ("00000000", "00000001", file_id[:8]):
            path.write_bytes(b"x" * path.stat().st_size)
    return str(folder / "t"), row
