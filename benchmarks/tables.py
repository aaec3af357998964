"""The tables of the benchmark: their rows, columns and write options.

`write_tables` makes Spark write them, `queries` has their queries. Every column is a function of
the number of the row and of the commit, so that the same table is written each time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

CITIES = ("amsterdam", "berlin", "chennai", "denver")
RANDOM = "xxhash64(id, round, '{salt}')"  # differs by column and by commit

EVENT_TIME = {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}
COMMIT_TIME = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
PARQUET_LOGS = {"hoodie.logfile.data.block.format": "parquet"}


@dataclass(frozen=True, slots=True)
class Table:
    """A MERGE_ON_READ table of a first commit and some upserts."""

    letter: str
    title: str
    rows: int  # of the first commit, at scale 1
    file_groups: int  # at scale 1, if `scales_groups`
    upserts: int
    share: float  # of all rows that each upsert writes; one divided by a whole number
    hudi_options: dict[str, str]
    more_columns: dict[str, str] = field(default_factory=dict)  # name → Spark SQL
    scales_groups: bool = False
    is_log_only: bool = False  # the first commit writes log files, too

    def at(self, scale: float) -> Sized:
        groups = round(self.file_groups * scale) if self.scales_groups else self.file_groups
        groups = max(len(CITIES), groups // len(CITIES) * len(CITIES))
        step = round(1 / self.share)
        unit = groups * step  # each file group has the same rows, and whole steps of them
        return Sized(self, max(1, round(self.rows * scale / unit)) * unit, groups, step)


@dataclass(frozen=True, slots=True)
class Sized:
    """A table at one scale."""

    table: Table
    rows: int
    file_groups: int
    step: int  # an upsert writes one row in this many


def random(salt: str, below: int) -> str:
    return f"pmod({RANDOM.format(salt=salt)}, {below})"


def core_columns(rows: int) -> dict[str, str]:
    """Return the twelve columns of every table, as Spark SQL over the columns id and round."""
    cities = ", ".join(f"'{city}'" for city in CITIES)
    text = f"concat(md5(string({RANDOM.format(salt='n')})), md5(string({RANDOM.format(salt='m')})))"
    # Half of an upsert's rows are changed by every upsert, half only by this one. One row in ten is
    # late: its ordering value is below that of the existing row.
    late = f"if(round > 0 and {random('late', 10)} = 0, -9000, round * 1000)"
    return {
        "uuid": "md5(string(id))",
        "ts": f"1700000000000 + id + {late}",
        "rider": f"concat('rider-', {random('rider', 1000)})",
        "driver": f"concat('driver-', {random('driver', 100_000)})",
        "seats": f"int({random('seats', 6)})",
        "distance": random("distance", 1_000_000),
        "fare": f"{random('fare', 1_000_000)} / 10000D",
        "tip": f"if({random('tip?', 10)} < 3, null, {random('tip', 1_000_000)} / 70000D)",
        "price": f"cast({random('price', 10**9)} / 100 as decimal(10,2))",
        "day": f"date_add(date'2025-01-01', int({random('day', 300)}))",
        "note": f"if({random('note?', 10)} < 2, null, substr({text}, 1, int({random('l', 60)})))",
        "city": f"element_at(array({cities}), int(id * {len(CITIES)} div {rows}) + 1)",
    }


def wide_columns(count: int) -> dict[str, str]:
    kinds = (
        "string(xxhash64(id, round, {n}))",
        "pmod(xxhash64(id, round, {n}), 1000000) / 1000D",
        "pmod(xxhash64(id, round, {n}), 1000000)",
        "if(pmod(xxhash64(id, round, {n}), 4) = 0, null, int(pmod(xxhash64(id, {n}), 1000)))",
    )
    return {f"c{n:03}": kinds[n % len(kinds)].format(n=n) for n in range(count)}


NESTED = {
    "address": f"named_struct('street', concat('street ', {random('street', 5000)}), 'house', "
    f"int({random('house', 200)}), 'place', named_struct('lat', {random('lat', 90)} / 7D, "
    f"'lon', {random('lon', 180)} / 7D))",
    "items": f"transform(sequence(1, int({random('items', 4)}) + 1), i -> named_struct("
    f"'sku', concat('sku-', i, '-', {random('sku', 900)}), 'amount', {random('amount', 90)} / 4D))",
    "tags": f"transform(sequence(1, int({random('tags', 3)}) + 1), i -> concat('tag-', i))",
    "counters": f"map('seen', {random('seen', 1000)}, 'sold', {random('sold', 100)})",
}

TABLES = {
    table.letter: table
    for table in (
        Table("a", "Avro logs, event time", 4_000_000, 16, 3, 1 / 10, EVENT_TIME),
        Table(
            "b",
            "Parquet logs, commit time",
            4_000_000,
            16,
            3,
            1 / 10,
            {**COMMIT_TIME, **PARQUET_LOGS},
        ),
        Table("c", "300 columns", 200_000, 16, 3, 1 / 10, EVENT_TIME, wide_columns(288)),
        Table("d", "nested columns", 1_000_000, 16, 3, 1 / 10, EVENT_TIME, NESTED),
        Table("e", "three times as many log records", 1_000_000, 16, 3, 1, EVENT_TIME),
        Table(
            "f",
            "20,000 small slices",
            200_000,
            20_000,
            1,
            1 / 10,
            {
                **EVENT_TIME,
                # Otherwise the Bloom filters of the small files take 9 GB.
                "hoodie.index.bloom.num_entries": "100",
            },
            scales_groups=True,
        ),
        Table(
            "g",
            "log files alone",
            1_000_000,
            16,
            2,
            1 / 10,
            {**EVENT_TIME, "hoodie.index.type": "INMEMORY"},  # writes inserts to log files
            is_log_only=True,
        ),
    )
}


def record_key(number: int) -> str:
    """Return the key of a row, as Spark's ``md5(string(id))`` does."""
    return hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
