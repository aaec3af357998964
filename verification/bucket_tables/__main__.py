"""Look up rows of random tables with a bucket index by their keys.

The writer of a table knows its rows, so no answer of the reader is its own judge. Each row must be
in a file slice that a filter on its key leaves, and some are read. Exits with 1 if a row is lost.
"""

from __future__ import annotations

import random
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from hudi_pyspark import HudiTable
from hudi_pyspark.scan import Scan
from hudi_pyspark.tasks import ScanTask
from tests.golden.compare import Difference, compare_rows, rows_of
from verification.bucket_tables.tables import KINDS, Group, Values, Writer
from verification.common.by_key import left_out
from verification.common.runs import Outcome, Run, parser_of, seeds_of

READ = 25  # one look-up in so many is read
LAYOUTS = ("simple", "simple", "by partition", "non-blocking", "ring", "scattered")
FOUND, LOST, OTHER = "found", "lost", "other rows"
LEFT_OUT = "file slices left out"


def examine(folder: Path, seed: int, lookups: int, run: Run) -> None:
    """Write the table of a seed, and look up rows by their keys."""
    rng = random.Random(seed)
    writer, shape = random_table(folder, rng)
    table = HudiTable(str(folder))
    rows = writer.all_rows()
    chosen = rng.sample(rows, min(lookups, len(rows)))
    for number, (group, row) in enumerate(chosen):
        values = writer.keys.values_in(row)
        for condition in conditions(rng, writer, values):
            scan = table.scan(filter=condition, use_metadata_table=False)
            run.notes[LEFT_OUT] += left_out(scan).total()
            asked = f"seed {seed}, {shape}: {condition}"
            is_found = group in planned_groups(scan)
            text = "" if is_found else f"{asked} leaves out {group}"
            found = FOUND if is_found else LOST
            run.add(Outcome("look-ups", found, text=text, is_finding=not is_found))
            if number % READ == 0:
                problem = wrong_rows(scan, writer, values)
                found = OTHER if problem else FOUND
                text = f"{asked}: {problem}"
                run.add(Outcome("reads", found, text=text, is_finding=bool(problem)))


def planned_groups(scan: Scan) -> set[Group]:
    """Return the file groups that a scan reads."""
    planned = [task.file_slice for task in scan.plan() if isinstance(task, ScanTask)]
    return {(file_slice.partition_path, file_slice.file_id) for file_slice in planned}


def wrong_rows(scan: Scan, writer: Writer, values: Values) -> Difference:
    """Compare the rows of a filter on a whole key with those that the writer knows."""
    key = writer.keys.record_key(values)
    expected = [(group[0], rows[key]["ts"]) for group, rows in writer.rows.items() if key in rows]
    names = ["part", "ts"]
    return compare_rows(names, expected, rows_of(scan.to_arrow().select(names)))


def conditions(rng: random.Random, writer: Writer, values: Values) -> list[Any]:
    """Return filters that a row passes: on its key fields, and on its record key."""
    found: list[Any] = []
    if None not in values.values():
        found.append([(name, "=", value) for name, value in values.items()])
    if writer.has_meta:
        found.append([("_hoodie_record_key", "=", writer.keys.record_key(values))])
    return found[: rng.randint(1, 2)] or found


def random_table(folder: Path, rng: random.Random) -> tuple[Writer, str]:
    """Write a table; also return its shape in words."""
    kind = rng.choice(list(KINDS))
    layout = rng.choice(LAYOUTS)
    partitions = [f"p{number}" for number in range(rng.choice([1, 1, 2, 4]))]
    count = int(2 ** rng.uniform(0, 9))
    counts = dict.fromkeys(partitions, count)
    if layout == "by partition":
        counts = {name: int(2 ** rng.uniform(0, 8)) for name in partitions}
    writer = Writer(
        folder,
        rng,
        KINDS[kind],
        is_old=rng.random() < 0.5,
        counts=counts,
        has_ring=layout == "ring",
        fixed_ids=layout == "non-blocking",
        is_scattered=layout == "scattered",
        has_meta=rng.random() < 0.85,
    )
    rows = int(2 ** rng.uniform(5, 12.5))
    events = []
    for number in range(rng.randint(1, 5)):
        drawn = [(rng.choice(partitions), writer.keys.draw(rng)) for _ in range(rows)]
        writer.upsert(drawn, as_base=rng.random() < 0.3)
        rows = max(1, rows // rng.choice([1, 2, 8]))
        if number or rng.random() < 0.5:
            event = rng.choice(EVENTS)
            event(writer, rng)
            events.append(event.__name__)
    release = "0.15" if writer.is_old else "1.2"
    meta = "" if writer.has_meta else ", virtual keys"
    shape = f"{layout} by {release}, {kind}, {count} buckets{meta}, {', '.join(events)}"
    return writer, shape


def update(writer: Writer, rng: random.Random) -> None:
    rows = writer.all_rows()
    some = rng.sample(rows, min(len(rows), rng.choice([1, 40, 400])))
    # A group of clustering keeps its rows: the index of the writer does not find them there.
    writer.upsert([(partition, writer.keys.values_in(row)) for (partition, _), row in some])


def delete(writer: Writer, rng: random.Random) -> None:
    if not writer.has_meta:
        return
    groups = [group for group, rows in writer.rows.items() if rows]
    for group in rng.sample(groups, min(3, len(groups))):
        writer.delete(group, rng.sample(sorted(writer.rows[group]), 1))


def compact(writer: Writer, rng: random.Random) -> None:
    writer.compact(rng.sample(list(writer.rows), max(1, len(writer.rows) // 2)))


def rescale(writer: Writer, rng: random.Random) -> None:
    """Overwrite partitions with another number of buckets, or split an arc of a ring."""
    partition = rng.choice(list(writer.counts))
    if writer.has_ring:
        split(writer, rng, partition)
        return
    writer.counts[partition] = max(1, int(writer.counts[partition] * rng.choice([0.5, 2, 1.5, 3])))
    if writer.fixed_ids:  # a group that is replaced under its own id is beyond this writer
        return
    new_ids: dict[str, str] = {}

    def place(partition: str, values: Values) -> str:
        bucket = writer.file_id(partition, values)[:8]
        return new_ids.setdefault(bucket, f"{bucket}{other_id(rng)}")

    writer.replace(writer.groups_of(partition), place, "INSERT_OVERWRITE")


def misconfigure(writer: Writer, rng: random.Random) -> None:
    """Write with another number of buckets, without a rescale: keys get rows in two buckets."""
    if writer.has_ring:
        return
    partition = rng.choice(list(writer.counts))
    writer.counts[partition] += rng.choice([-1, 1, 2, writer.counts[partition]])
    writer.counts[partition] = max(1, writer.counts[partition])
    rows = rng.choice([20, 200, 2000])
    drawn = [(partition, writer.keys.draw(rng)) for _ in range(rows)]
    writer.upsert(drawn, as_base=rng.random() < 0.5)


def split(writer: Writer, rng: random.Random, partition: str) -> None:
    """Split a node of a ring: the resize completes, or leaves only the ring that it planned."""
    nodes = writer.rings[partition]
    place = rng.randrange(len(nodes))
    value, prefix = nodes[place]
    before = nodes[place - 1][0] if place else -1
    middle = (before + value) // 2
    children = [(middle, other_id(rng, whole=True)), (value, other_id(rng, whole=True))]
    group = partition, f"{prefix}-0"
    instant = str(writer.instant + 1)
    writer.set_ring(partition, [*nodes[:place], *children, *nodes[place + 1 :]], instant)
    if group not in writer.rows or rng.random() < 0.3:
        writer.rings[partition] = nodes
        return
    writer.replace([group], writer.file_id)


def cluster(writer: Writer, rng: random.Random) -> None:
    """Rewrite groups without regard to buckets."""
    partition = rng.choice(list(writer.counts))
    groups = writer.groups_of(partition)
    some = rng.sample(groups, min(len(groups), rng.choice([1, 3])))
    if some:
        file_id = other_id(rng, whole=True) + "-0"
        writer.replace(some, lambda _partition, _values: file_id)


def other_id(rng: random.Random, *, whole: bool = False) -> str:
    text = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    return text if whole else f"{text[8:]}-0"


EVENTS = (update, update, delete, compact, rescale, cluster, misconfigure)


def main() -> int:
    parser = parser_of(__doc__, seed=1, count=100)
    parser.add_argument("--lookups", type=int, default=200, help="of each table")
    given = parser.parse_args()
    run = Run()
    for seed in seeds_of(given):
        with tempfile.TemporaryDirectory() as folder:
            examine(Path(folder) / "table", seed, given.lookups, run)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
