"""Records decoded per second on one core, against fastavro, polars and datafusion.

    python benchmarks/avro_decoder.py [records] [rounds]

The records are like those of a Hudi log block: five meta columns and twelve typical ones. Polars
and datafusion decode an Avro container file, since they have no reader for bare records: polars in
memory, datafusion from a cached file, since it only reads files. The container is not compressed.
fastavro decodes one record per call into dicts. The rounds alternate between the readers, and the
medians are printed: records per second, how many times longer each took than this project, and the
target for that ratio.
"""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import os
import random
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import numpy as np

from hudi_pyspark.format.avro.decoder import decode_records
from hudi_pyspark.format.avro.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

META = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
THREE = ["_hoodie_record_key", "updated_at", "fare"]
TARGETS = {
    ("17 columns", "fastavro"): 15.0,
    ("17 columns", "polars"): 1.3,
    ("3 columns", "polars"): 1.3,
    ("3 columns", "datafusion"): 1.2,
}


def optional(kind: object) -> dict[str, Any]:
    return {"type": ["null", kind], "default": None}


SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "trip",
    "fields": [
        *({"name": f"_hoodie_{name}", **optional("string")} for name in META),
        {"name": "uuid", "type": "string"},
        {"name": "rider", **optional("string")},
        {"name": "note", **optional("string")},
        {"name": "distance", **optional("long")},
        {"name": "updated_at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "fare", **optional("double")},
        {"name": "tip", "type": "double"},
        {"name": "seats", **optional("int")},
        {
            "name": "price",
            **optional(
                {
                    "type": "fixed",
                    "name": "fixed",
                    "namespace": "trip.price",
                    "size": 5,
                    "logicalType": "decimal",
                    "precision": 10,
                    "scale": 2,
                }
            ),
        },
        {"name": "day", **optional({"type": "int", "logicalType": "date"})},
        {"name": "is_paid", **optional("boolean")},
        {"name": "city", "type": "string"},
    ],
}


def random_trip(rng: random.Random, ordinal: int) -> dict[str, Any]:
    city = rng.choice(["san_francisco", "são_paulo", "chennai", "nairobi"])
    return {
        "_hoodie_commit_time": "20250316025816068",
        "_hoodie_commit_seqno": f"20250316025816068_3_{ordinal}",
        "_hoodie_record_key": f"key-{ordinal:09d}",
        "_hoodie_partition_path": f"city={city}",
        "_hoodie_file_name": "6c2f6b33-2f6e-4d2a-9b6f-6a8a1fb1f5a1-0",
        "uuid": f"{rng.getrandbits(128):032x}",
        "rider": f"rider-{rng.randrange(1000)}",
        "note": "x" * rng.randrange(60) if rng.random() < 0.8 else None,
        "distance": rng.randrange(1 << 40) if rng.random() < 0.9 else None,
        "updated_at": 1_742_093_896_068_000 + rng.randrange(10**12),
        "fare": rng.random() * 100,
        "tip": rng.random() * 10,
        "seats": rng.randrange(6),
        "price": decimal.Decimal(rng.randrange(10**9)) / 100,
        "day": dt.date(2025, 3, 16) + dt.timedelta(days=rng.randrange(300)),
        "is_paid": rng.random() < 0.9,
        "city": city,
    }


def encode(records: list[dict[str, Any]]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Return the encoded records without a container, and the begin and end of each."""
    schema = fastavro.parse_schema(SCHEMA)
    out = io.BytesIO()
    edges = [0]
    for record in records:
        fastavro.schemaless_writer(out, schema, record)
        edges.append(out.tell())
    offsets = np.array(edges, np.int64)
    return out.getvalue(), offsets[:-1], offsets[1:]


def readers(
    records: list[dict[str, Any]], folder: Path
) -> dict[str, dict[str, Callable[[], object]]]:
    """Return, by task and reader, a function that decodes all records once.

    Args:
        records: the records to decode.
        folder: where to write the container file.
    """
    raw, starts, ends = encode(records)
    ours = parse_schema(json.dumps(SCHEMA))
    theirs = fastavro.parse_schema(SCHEMA)
    container = folder / "records.avro"
    with container.open("wb") as out:
        fastavro.writer(out, SCHEMA, records, codec="null")

    def with_fastavro() -> None:
        stream = io.BytesIO(raw)
        for _ in range(len(starts)):
            fastavro.schemaless_reader(stream, theirs)

    by_task: dict[str, dict[str, Callable[[], object]]] = {}
    for task, columns in {"17 columns": None, "3 columns": THREE}.items():
        by_task[task] = {
            "hudi_pyspark": partial(decode_records, ours, raw, starts, ends, columns),
            "fastavro": with_fastavro,
            **with_polars(container, columns),
            **with_datafusion(container, columns),
        }
    return by_task


def with_polars(container: Path, columns: list[str] | None) -> dict[str, Callable[[], object]]:
    try:
        import polars as pl
    except ImportError:
        return {}
    content = container.read_bytes()
    return {"polars": lambda: pl.read_avro(io.BytesIO(content), columns=columns)}


def with_datafusion(container: Path, columns: list[str] | None) -> dict[str, Callable[[], object]]:
    try:
        from datafusion import SessionConfig, SessionContext
    except ImportError:
        return {}

    def read() -> object:
        session = SessionContext(SessionConfig().with_target_partitions(1))
        frame = session.read_avro(str(container))
        return (frame.select(*(f'"{name}"' for name in columns)) if columns else frame).collect()

    return {"datafusion": read}


def main(count: int, rounds: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = random.Random(7)  # the same records every time
    records = [random_trip(rng, ordinal) for ordinal in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        measure(readers(records, Path(folder)), count, rounds)


def measure(tasks: dict[str, dict[str, Callable[[], object]]], count: int, rounds: int) -> None:
    for task, by_name in tasks.items():
        seconds: dict[str, list[float]] = {name: [] for name in by_name}
        for _ in range(rounds):
            for name, decode in by_name.items():
                begin = time.perf_counter()
                decode()
                seconds[name].append(time.perf_counter() - begin)
        median = {name: statistics.median(values) for name, values in seconds.items()}
        for name, value in median.items():
            ratio = value / median["hudi_pyspark"]
            million = count / value / 1e6
            target = TARGETS.get((task, name))
            wanted = f"  (target x{target:g})" if target else ""
            print(f"{task:<12}{name:<14}{million:6.2f} M records/s  x{ratio:.2f}{wanted}")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [400_000, 5][len(numbers) :]))
