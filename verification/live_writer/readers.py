"""The readers of the live table: each loops until the writers have stopped, and once more."""

from __future__ import annotations

import random
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_pyspark import HudiError, HudiTable, IncrementalRangeError
from hudi_pyspark.format.timeline.instant import FIRST_OFFSET
from hudi_pyspark.options.read_options import StreamOptions
from hudi_pyspark.planning.stream_offsets import (
    batch_options,
    commit_offsets,
    initial_offset,
    next_offset,
)
from hudi_pyspark.scan import Scan
from verification.histories.instants import completed_commits
from verification.live_writer.records import Journal, Kind, Read
from verification.live_writer.rows import COLUMNS, WRITERS, keys_of

_PAUSE = 0.5  # seconds between reads, which leaves the processor to the writers
_SLOW_PAUSE = 8  # seconds between the batches of a slow read
_SHARE_REPEATED = 0.2
_STREAM = StreamOptions.parse({"maxCommitsPerTrigger": "3"})
_TWO_COLUMNS = ("batch", "id")


@dataclass
class Reader:
    """One process that reads in one way."""

    name: str
    table: str
    out: Journal
    dice: random.Random
    position: str = ""  # up to which ranges have been read
    is_first: bool = True  # the next range does not continue another

    def open(self) -> HudiTable:
        return HudiTable(self.table)

    def read(
        self,
        kind: Kind,
        choose: Callable[[HudiTable], Scan],
        collect: Callable[[Scan], Iterator[pa.RecordBatch]] = Scan.to_batches,
        **details: Any,
    ) -> Read:
        """Read once, and record what came of it."""
        begun = time.time()
        opened = 0.0
        rows: list[tuple[Any, ...]] = []
        error: dict[str, Any] = {}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                table = self.open()
                opened = time.time()
                for batch in collect(choose(table)):
                    rows += [tuple(row.values()) for row in batch.to_pylist()]
            except Exception as raised:  # noqa: BLE001  (the judge says which are findings)
                text = "".join(traceback.format_exception(raised))
                error = {"error": type(raised).__name__, "message": text, "rows_before": len(rows)}
        ended = time.time()
        read = Read(
            kind=kind,
            reader=self.name,
            options=details.pop("options", {}),
            begun=begun,
            opened=opened or ended,
            ended=ended,
            rows=() if error else tuple(rows),
            is_warned=any(issubclass(w.category, UserWarning) for w in warned),
            **details,
            **error,
        )
        self.out.append(read)
        return read


def _slowly(scan: Scan) -> Iterator[pa.RecordBatch]:
    """Take a batch now and then from one thread, so that a cleaner may overtake the read."""
    for batch in scan.to_batches(threads=1):
        yield batch
        time.sleep(_SLOW_PAUSE)


def read_snapshots(reader: Reader) -> None:
    """Read all, two columns, filtered rows, or some keys."""
    kind = reader.dice.choice((Kind.SNAPSHOT, Kind.PROJECTION, Kind.FILTER, Kind.LOOKUP))
    columns = _TWO_COLUMNS if kind is Kind.PROJECTION else COLUMNS
    options: dict[str, Any] = {
        "hoodie.metadata.enable": reader.dice.choice(("true", "false")),
        "columns": ",".join(columns),
    }
    if kind is Kind.FILTER:
        part = reader.dice.choice(("a0", "b1", "shared"))
        batch = reader.dice.choice((1, 5, 20, 60))
        options["filter"] = reader.dice.choice((f"part = '{part}'", f"batch > {batch}"))
    if kind is Kind.LOOKUP:
        keys = [key for writer in WRITERS for key in keys_of(writer)]
        options["filter"] = f"id = '{reader.dice.choice(keys)}'"
    reader.read(kind, lambda table: table.scan(**options), options=options)
    time.sleep(_PAUSE)


def read_slowly(reader: Reader) -> None:
    """Read a snapshot for so long that cleaners overtake it."""
    metadata = {"hoodie.metadata.enable": reader.dice.choice(("true", "false"))}
    options: dict[str, Any] = {**metadata, "columns": ",".join(COLUMNS), "batch_rows": "8"}
    reader.read(Kind.SLOW, lambda table: table.scan(**options), _slowly, options=options)
    time.sleep(_PAUSE)


def read_as_of(reader: Reader) -> None:
    """Read the table as of one of its commits."""
    try:
        times = reader.open().inspect.commits().column("requested_time").to_pylist()
    except HudiError:
        times = []  # an instant that was archived meanwhile; other reads show such errors
    if times:
        as_of = reader.dice.choice(times[-12:])
        reader.read(Kind.AS_OF, lambda table: table.scan(COLUMNS, as_of=as_of), as_of=as_of)
    time.sleep(_PAUSE)


def read_incrementally(reader: Reader) -> None:
    """Read the commits since the last poll, and a range that reaches further back."""
    begin = reader.position or FIRST_OFFSET
    end = max(commit_offsets(reader.open()._view), default="")
    if end > begin:
        _read_range(reader, Kind.INCREMENTAL, begin, end)
        earlier = str(int(end) - reader.dice.choice((5_000, 20_000, 60_000)))
        reader.read(
            Kind.LATEST_OF_RANGE,
            lambda table: table.scan(COLUMNS, begin=earlier, end=end),
            begin=earlier,
            end=end,
        )
    time.sleep(5 * _PAUSE)


def read_stream(reader: Reader) -> None:
    """Plan a batch of a stream and read it later, as Spark does; at times once more."""
    begin = reader.position or initial_offset(reader.open()._view, _STREAM)
    end = next_offset(reader.open()._view, begin, _STREAM, until="", limited=True)
    time.sleep(reader.dice.choice((0, _PAUSE, 5 * _PAUSE)))
    if end > begin:
        is_read = _read_range(reader, Kind.STREAM, begin, end)
        if is_read and reader.dice.random() < _SHARE_REPEATED:
            _read_range(reader, Kind.STREAM, begin, end, is_repeated=True)


def _read_range(
    reader: Reader, kind: Kind, begin: str, end: str, *, is_repeated: bool = False
) -> bool:
    """Read a range, and go on from its end; also where nothing can answer it any more."""
    options = {"columns": ",".join(COLUMNS), "on_missing": "fail"}
    read = reader.read(
        kind,
        lambda table: table._scan(batch_options(options, begin, end), {}),
        options=options,
        begin=begin,
        end=end,
        is_first=reader.is_first,
        is_repeated=is_repeated,
    )
    if not is_repeated and (not read.error or read.error == IncrementalRangeError.__name__):
        reader.position = end
        reader.is_first = bool(read.error)
    return not read.error


_LOOPS = {
    "snapshots": read_snapshots,
    "slow": read_slowly,
    "time travel": read_as_of,
    "incremental": read_incrementally,
    "stream": read_stream,
}
READERS = tuple(_LOOPS)


def read_live(name: str, folder: str, seed: int, is_over: Event) -> None:
    """Loop until the writers have stopped, and once more; a process."""
    table = Path(folder) / "table"
    journal = Journal.of_reader(Path(folder), name)
    reader = Reader(name, str(table), journal, random.Random(f"{seed} {name}"))
    while not completed_commits(table):
        if is_over.is_set():
            return
        time.sleep(1)
    is_last = False
    while not is_last:
        is_last = is_over.is_set()
        _LOOPS[name](reader)
