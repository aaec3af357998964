"""A bootstrapped table, whose rows are in files of another one."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.table.bootstrap_index import INDEX, bootstrap_index
from tests.table.tiny_table import TinyTable

INSTANT = "00000000000001"
NEWER = "20240101000000000"
PATH = f"p=1/f1_0-1-0_{INSTANT}.parquet"
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"]
KEY = "_hoodie_record_key"


def skeleton(rows: int) -> pa.Table:
    return pa.table({name: [f"{name[8:11]}{i}" for i in range(rows)] for name in META})


def source(rows: int) -> pa.Table:
    return pa.table({"id": list(range(rows)), "name": [f"n{i}" for i in range(rows)]})


def parquet(table: pa.Table, **options: object) -> bytes:
    octets = io.BytesIO()
    pq.write_table(table, octets, **options)
    return octets.getvalue()


def bootstrapped(
    folder: Path, recorded: str, newer: str = f"p=2/f2_0-1-0_{NEWER}.parquet", **properties: str
) -> str:
    """A table with one skeleton and one ordinary file; its source is in `folder`/source."""
    fields = [{"name": n, "type": t} for n, t in (("id", "long"), ("name", "string"), ("p", "int"))]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    whole = skeleton(1).append_column("id", pa.array([7])).append_column("name", pa.array(["x"]))
    table = TinyTable(
        8,
        "COPY_ON_WRITE",
        bootstrap__base__path=recorded,
        table__partition__fields="p",
        datasource__write__hive_style_partitioning="true",
        **properties,
    )
    table.data(PATH, content=parquet(skeleton(3)))
    table.data(newer, content=parquet(whole.append_column("p", pa.array([2], pa.int32()))))
    table.write(INSTANT, "commit", PATH, completed="20230101000000000", extra={"schema": schema})
    table.write(NEWER, "commit", newer, completed="20240101000000001", extra={"schema": schema})
    table.files[INDEX] = bootstrap_index({("p=1", "f1"): f"file:{recorded}/p=1/part-0.parquet"})
    files = {f"table/{name}": content for name, content in table.files.items()}
    files["source/p=1/part-0.parquet"] = parquet(source(3))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return str(folder / "table")


BOOTSTRAPPED = [("rec0", 0, "n0", 1), ("rec1", 1, "n1", 1), ("rec2", 2, "n2", 1)]
