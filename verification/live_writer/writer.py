"""Apache Hudi writes a table without a pause: two writers and the table services, in one JVM."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import fastavro
from pyspark.sql import SparkSession

from tests.golden.compare import compare_rows
from verification.common.data import load_data
from verification.histories.instants import Instant, completed_commits
from verification.histories.session import LOG, start_session
from verification.live_writer.judge import Truth
from verification.live_writer.records import Journal, Service, Write
from verification.live_writer.rows import (
    COLUMNS,
    DDL,
    SHARED_PARTITION,
    WRITERS,
    keys_of,
    partition_of,
    row_of,
)

HUDI = "1.2.0"
_MARK = "live.batch"  # key in a commit's metadata, by which a writer finds the commit of a batch
_SHARE_OF_DELETES = 0.15
_FEWEST_KEYS = 30  # that stay
_SHARE_IN_SHARED_PARTITION = 0.25  # batches that may conflict with the other writer's

# Of the names of timeline files. Writes in progress do not matter: no writer is at work then.
_SERVICE = re.compile(r"\.(compaction|commit|clustering|replacecommit)(\.|$)")

_TABLE = load_data(__file__, "table.toml")
_SETTINGS: Mapping[str, str] = _TABLE["settings"]
_METADATA_COMMITS_TO_COMPACT = int(_SETTINGS["hoodie.metadata.compact.max.delta.commits"])
_AUDIT = "audit"  # compares Apache Hudi's own snapshot with the journal


@dataclass
class LiveTable:
    """The table and all that writes to it share."""

    spark: SparkSession
    path: Path
    journal: Journal
    turns: Sequence[threading.Lock]  # one for each writer, which has it while it writes
    until: float  # when to stop, in seconds since 1970

    def write(
        self, writer: str, number: int, upserts: Sequence[str], deletes: Sequence[str]
    ) -> None:
        """Write one batch, and its outcome into the journal."""
        begun = time.time()
        problem = ""
        try:
            operation = "upsert" if upserts else "delete"
            self._save(operation, upserts or deletes, number, f"{writer}{number}")
        except Exception as error:  # noqa: BLE001  (conflicts are expected; all are in the journal)
            problem = _text(error)
        # A write that raises may have committed before it did.
        commit = self._commit_of(f"{writer}{number}", begun)
        instants = (commit.requested, commit.completion) if commit else ("", "")
        entry = Write(
            writer, number, begun, time.time(), tuple(upserts), tuple(deletes), *instants, problem
        )
        self.journal.append(entry)

    def _save(self, operation: str, keys: Sequence[str], batch: int, mark: str) -> None:
        options = {
            **_SETTINGS,
            **_TABLE["writes"],
            "hoodie.datasource.write.operation": operation,
            _MARK: mark,
        }
        rows = [row_of(key, batch) for key in keys]
        frame = self.spark.createDataFrame(rows, DDL).coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(str(self.path))

    def _commit_of(self, mark: str, begun: float) -> Instant | None:
        earliest = time.strftime("%Y%m%d%H%M%S", time.gmtime(begun - 5))
        for instant in reversed(completed_commits(self.path)):
            if instant.requested < earliest:
                break
            file = self.path / ".hoodie/timeline" / instant.file_name
            try:
                with file.open("rb") as opened:
                    body: Any = next(fastavro.reader(opened))
            except FileNotFoundError:  # archived meanwhile, which takes several commits
                continue
            if (body.get("extraMetadata") or {}).get(_MARK) == mark:
                return instant
        return None

    def serve(self, kind: str) -> None:
        """Run one table service, and write its outcome into the journal."""
        with ExitStack() as alone:
            for turn in self.turns if kind in _TABLE["alone"] else ():
                alone.enter_context(turn)
            last = self._commit_to_roll_back() if kind == "rollback" else ""
            if kind == "rollback" and not last:
                return
            begun = time.time()
            problem = ""
            try:
                if kind == _AUDIT:
                    problem = self._difference_to_journal()
                for call in _TABLE["services"].get(kind, ()):
                    self.spark.sql(f"CALL {call.format(last=last)}").collect()
            except Exception as error:  # noqa: BLE001  (as for writes)
                problem = _text(error)
            is_gone = last and last not in {i.requested for i in completed_commits(self.path)}
            rolled_back = last if is_gone else ""
            self.journal.append(Service(kind, begun, time.time(), rolled_back, problem))

    def _commit_to_roll_back(self) -> str:
        """Return the last commit, if nothing has been made of it; "" otherwise."""
        *earlier, last = completed_commits(self.path)
        names = {file.name for file in (self.path / ".hoodie/timeline").iterdir()}
        built_on_it = any(name > f"{last.requested}_z" and _SERVICE.search(name) for name in names)
        is_possible = bool(earlier) and last.action == "deltacommit" and not built_on_it
        return last.requested if is_possible and self._metadata_can_roll_back(last) else ""

    def _metadata_can_roll_back(self, last: Instant) -> bool:
        """Return whether the metadata table is not compacted after a commit, nor by its rollback.

        Otherwise Apache Hudi fails in the middle of the rollback, and in all later ones.
        """
        own = completed_commits(self.path / ".hoodie/metadata")
        compacted = max((i.requested for i in own if i.action == "commit"), default="")
        since = sum(i.requested > compacted for i in own)
        return compacted < last.requested and since < _METADATA_COMMITS_TO_COMPACT - 2

    def _difference_to_journal(self) -> str:
        """Return how Apache Hudi's own snapshot differs from what the journal says; "" if equal."""
        self.spark.catalog.clearCache()
        rows = self.spark.read.format("hudi").load(str(self.path)).select(*COLUMNS).collect()
        expected = Truth.of(self.journal.all(Write), self.journal.all(Service)).rows_now()
        difference = compare_rows(COLUMNS, map(tuple, rows), expected)
        return str(difference) if difference else ""


def _text(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    texts = []
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return " / ".join(texts or [f"{type(error).__name__}: {error}"])[:1500]


def write_batches(table: LiveTable, number: int, seed: int) -> None:
    """Write batch after batch until the time is up."""
    writer = WRITERS[number]
    dice = random.Random(f"{seed} {number}")
    for batch, upserts, deletes in batches(writer, dice):
        if time.time() > table.until:
            return
        with table.turns[number]:
            table.write(writer, batch, upserts, deletes)
        time.sleep(dice.random())


def batches(
    writer: str, dice: random.Random
) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    keys = list(keys_of(writer))
    yield 1, tuple(keys), ()
    batch = 1
    while True:
        batch += 1
        is_shared = dice.random() < _SHARE_IN_SHARED_PARTITION
        own = [key for key in keys if is_shared or partition_of(key) != SHARED_PARTITION]
        some = tuple(sorted(dice.sample(own, dice.randint(1, len(own) // 2))))
        is_delete = dice.random() < _SHARE_OF_DELETES and len(keys) > _FEWEST_KEYS
        if is_delete:
            # Never written again: where a compaction runs beside the write that brings a key back,
            # the next one does not find it in a base file, and inserts it twice (seen with 1.2.0).
            keys = [key for key in keys if key not in some[:2]]
        yield (batch, (), some[:2]) if is_delete else (batch, some, ())


def run_services(table: LiveTable, seed: int) -> None:
    """Run one table service after another until the time is up."""
    dice = random.Random(f"{seed} services")
    for kind in cycle(_TABLE["order"]):
        if time.time() > table.until:
            return
        time.sleep(dice.uniform(0, 3))
        table.serve(kind)


def write_live(folder: str, seconds: float, seed: int) -> None:
    """Write the table ``folder/table`` and the journal ``folder/journal.jsonl``; a process."""
    log = os.open(f"{folder}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):  # the JVM's too
        os.dup2(log, stream)
    spark = start_session(HUDI, folder)
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    path = Path(folder) / "table"
    journal = Journal(Path(folder) / "journal.jsonl")
    turns = [threading.Lock() for _ in WRITERS]
    table = LiveTable(spark, path, journal, turns, until=0)
    table.write(WRITERS[0], 0, keys_of(WRITERS[0]), ())  # makes the table
    spark.sql(f"CREATE TABLE live USING hudi LOCATION '{path}'")
    table.until = time.time() + seconds
    with ThreadPoolExecutor() as pool:
        work = [pool.submit(write_batches, table, n, seed) for n in range(len(WRITERS))]
        work.append(pool.submit(run_services, table, seed))
    for done in work:
        done.result()  # raises what ended a thread early
    table.serve(_AUDIT)
    os._exit(0)  # without the farewell of the JVM, which takes seconds
