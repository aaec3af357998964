"""Seconds to find keys in an HFile, against reading all of it.

    python benchmarks/hfile.py [entries] [rounds]

The HFile has the keys and sizes of a record index: 36 bytes of key, some 50 of value, in gzip
blocks of 1 MiB (Apache Hudi's default) and of 64 KiB. It lies in a local file. The rounds alternate
between the tasks, and the medians are printed, with the bytes that were read and the target.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_pyspark.format.bytes_source import FileSource
from hudi_pyspark.format.hfile.reader import HFileReader, read_hfile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the tests' writer of blocks

from tests.format.hfile_writer import GZIP, block, entry, hfile

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = {"100,000 keys": 1.0}  # seconds, of 1,000,000 entries


class CountedSource(FileSource):
    """A file that counts the bytes that are read."""

    bytes_read = 0

    def __getitem__(self, span: slice, /) -> memoryview:
        octets = super().__getitem__(span)
        self.bytes_read += len(octets)
        return octets


def write(path: Path, keys: list[str], block_size: int, rng: random.Random) -> None:
    blocks: list[bytes] = []
    index: list[tuple[bytes, int, int]] = []
    offset = 0
    rows = []
    size = 0
    for place, key in enumerate(keys):
        row = entry(key.encode(), b"\x02\x14" + rng.randbytes(16) + b"2025/03/16-0-1765432100000")
        rows.append(row)
        size += len(row)
        if size >= block_size or place == len(keys) - 1:
            blocks.append(block(b"DATABLK*", b"".join(rows), GZIP))
            first = keys[place - len(rows) + 1].encode()
            index.append((first, offset, len(blocks[-1])))
            offset += len(blocks[-1])
            rows = []
            size = 0
    path.write_bytes(hfile(blocks, entry_count=len(keys), codec=GZIP, index=index))


def find(path: Path, keys: list[str]) -> int:
    """Find keys and return the bytes that this read."""
    with path.open("rb") as file:
        source = CountedSource(file)
        found = HFileReader.open(source, path=str(path)).find(keys)
        assert len(found.keys) == len(keys)
        return source.bytes_read


def read_whole(path: Path) -> int:
    data = path.read_bytes()
    read_hfile(data, path=str(path))
    return len(data)


def read_parts(path: Path) -> int:
    with path.open("rb") as file:
        source = CountedSource(file)
        for _ in HFileReader.open(source, path=str(path)).entries():
            pass
        return source.bytes_read


def measure(tasks: dict[str, Callable[[], int]], rounds: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    read: dict[str, int] = {}
    for _ in range(rounds):
        for name, task in tasks.items():
            begin = time.perf_counter()
            read[name] = task()
            seconds[name].append(time.perf_counter() - begin)
    for name, values in seconds.items():
        wanted = f"  (target {TARGETS[name]:g})" if name in TARGETS else ""
        print(f"  {name:<16}{statistics.median(values):8.3f} s  {read[name] / 1e6:8.2f} MB{wanted}")


def main(count: int, rounds: int) -> None:
    rng = random.Random(7)  # the same entries every time
    keys = sorted(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(count))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record_index.hfile"
        for block_size in (1 << 20, 64 << 10):
            write(path, keys, block_size, rng)
            tasks: dict[str, Callable[[], int]] = {
                "whole": partial(read_whole, path),
                "in parts": partial(read_parts, path),
            }
            for wanted in (1, 100, 100_000):
                sample = rng.sample(keys, min(wanted, count))
                tasks[f"{wanted:,} keys"] = partial(find, path, sample)
            print(f"{count:,} entries in blocks of {block_size >> 10} KiB")
            measure(tasks, rounds)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1_000_000, 3][len(numbers) :]))
