"""Golden tables of writers other than Spark and Flink: Apache Hudi's Java client and hudi-rs.

    PYTHONPATH=. python verification/generate/other_writers.py --out tests/golden java_client rust

Run it with PySpark 3.5 and Java 17, and hudi-rs with cargo and protoc. The steps are written here,
those of random histories execute them, and Apache Hudi 1.2.0 on Spark answers the queries.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

from verification.common.archives import pack
from verification.histories.avro_generation import JAVA
from verification.histories.bundles import bundle
from verification.histories.history import Column, History, Step, StepKind
from verification.histories.instants import completed_commits
from verification.histories.rust_generation import RUST
from verification.histories.rust_writer import RustWorker
from verification.histories.worker import SuccessiveWorker, start_session

READER = "1.2.0"
ROOT = Path(os.environ.get("HUDI_FIXTURE_ROOT", "/data/hudi"))
WORK = Path(os.environ.get("HUDI_FIXTURE_TMP", "/tmp/hudi_fixture_tmp")) / "other_writers"
QUERY_TYPE = "hoodie.datasource.query.type"
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.write.table.version": "9",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    **{f"hoodie.{of}.shuffle.parallelism": "2" for of in ("upsert", "insert", "delete")},
}


def fixed(number):
    return number.to_bytes(6, "big", signed=True).decode("latin-1")


def java_row(key, ts, note):
    number = int(key[1:])
    moment = 1_700_000_000_123 + 86_400_000 * number
    uuid = f"00000000-0000-4000-8000-{number:012d}"
    amount = fixed(100 * number + 25)
    return (key, ts, note, amount, moment, moment * 1000 + 456, uuid, "ab"[number % 2])


def java_client():
    """Write with the client that needs no Spark: its index is in memory, its types are Avro's."""
    kinds = (
        ("id", "string"), ("ts", "long"), ("note", "string"), ("amount", "fixed_decimal"),
        ("at", "timestamp_millis"), ("wall", "local_micros"), ("ref", "uuid"), ("p", "string"),
    )  # fmt: skip
    columns = tuple(Column(name, kind) for name, kind in kinds)

    def step(kind, rows, **options):
        return Step(kind, columns, tuple(rows), options, hudi=READER)

    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    numbers = range(12)
    steps = (
        step(StepKind.INSERT, (java_row(f"k{n:02d}", 100, "first") for n in numbers)),
        step(
            StepKind.UPSERT,
            [
                *(java_row(f"k{n:02d}", 200, "changed") for n in (1, 2, 3)),
                java_row("k04", 50, "late"),
                java_row("k20", 200, "new"),
            ],
        ),
        step(StepKind.DELETE, [java_row("k05", 300, None), java_row("k06", 300, None)]),
        step(StepKind.UPSERT, [java_row("k07", 300, "compacted")], **inline),
        step(StepKind.UPSERT, [java_row("k08", 300, None), java_row("k21", 300, "last")]),
    )
    # As the client has it: an index in memory, and a metadata table with nothing but the files.
    options = OPTIONS | {
        "hoodie.index.type": "INMEMORY",
        "hoodie.metadata.record.index.enable": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    history = History("java_v9_mor_compaction", f"{JAVA}{READER}", options, steps)
    return history, SuccessiveWorker(READER, WORK, has_java_client=True)


def rust_row(key, ts, note):
    number = int(key[1:])
    day = f"2026-01-{number % 28 + 1:02d}"
    return (key, ts, note, f"{number}.25", day, f"{day}T01:02:03.000004", "ab"[number % 2])


def rust():
    """Write with hudi-rs, and with Spark in between."""
    kinds = (
        ("id", "string"), ("ts", "long"), ("note", "string"), ("amount", "decimal"),
        ("day", "date"), ("at", "timestamp"), ("p", "string"),
    )  # fmt: skip
    columns = tuple(Column(name, kind) for name, kind in kinds)

    def step(kind, rows=(), hudi=""):
        return Step(kind, columns, tuple(rows), hudi=hudi)

    numbers = range(12)
    steps = (
        step(StepKind.INSERT, (rust_row(f"k{n:02d}", 100, "first") for n in numbers)),
        step(
            StepKind.UPSERT,
            [
                *(rust_row(f"k{n:02d}", 200, "changed") for n in (1, 2, 3)),
                rust_row("k04", 50, "late"),
                rust_row("k20", 200, "new"),
            ],
        ),
        step(StepKind.DELETE, [rust_row("k05", 300, None), rust_row("k06", 300, None)]),
        step(StepKind.COMPACT),
        step(StepKind.UPSERT, [rust_row("k07", 300, "after"), rust_row("k22", 300, "new")]),
        step(StepKind.UPSERT, [rust_row("k08", 300, "by Spark")], hudi=READER),
        step(StepKind.UPSERT, [rust_row("k09", 300, None), rust_row("k21", 300, "last")]),
    )
    return History("rust_v9_mor_compaction", RUST, OPTIONS, steps), RustWorker(READER, WORK)


def queries(commits):
    """Yield the queries of a table with their options."""
    yield "snapshot", {QUERY_TYPE: "snapshot"}
    yield "default_no_options", {}
    yield "read_optimized", {QUERY_TYPE: "read_optimized"}
    incremental = {QUERY_TYPE: "incremental"}
    yield "incr_all", {**incremental, BEGIN: "000"}
    first, middle, last = commits[0], commits[len(commits) // 2], commits[-1]
    yield "incr_after_c1", {**incremental, BEGIN: first.completion}
    yield "incr_mid", {**incremental, BEGIN: first.completion, END: middle.completion}
    yield "incr_empty", {**incremental, BEGIN: last.completion}
    for number, commit in enumerate(commits, 1):
        yield f"as_of_c{number}", {"as.of.instant": commit.requested}


def save(spark, path, name, options, folder):
    """Keep Apache Hudi's answer to a query; return its entry of case.json."""
    spark.catalog.clearCache()
    try:
        frame = spark.read.format("hudi").options(**options).load(str(path))
        rows = frame.count()
        scratch = folder / "scratch"
        frame.coalesce(1).write.mode("overwrite").parquet(str(scratch))
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"name": name, "options": options, "error": lines[0][:400]}
    (part,) = scratch.glob("part-*.parquet")
    part.rename(folder / f"{name}.parquet")
    shutil.rmtree(scratch)
    (folder / f"{name}.schema.json").write_text(frame.schema.json() + "\n")
    files = {
        "expected": f"expected/{name}.parquet",
        "schema": f"expected/{name}.schema.json",
    }
    return {"name": name, "options": options, **files, "rows": rows}


def write(history, worker):
    """Do all steps of a history; none may be refused."""
    path = ROOT / history.name
    shutil.rmtree(path, ignore_errors=True)
    for number, step in enumerate(history.steps):
        refusal = worker.execute(history, number, path)
        if refusal is not None:
            raise SystemExit(f"{history.name}: {step.label}: {refusal.error}: {refusal.message}")
    worker.stop()
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", choices=["java_client", "rust"])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out = given.out.resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    ROOT.mkdir(parents=True, exist_ok=True)
    written = []
    for name in given.cases:
        make = {"java_client": java_client, "rust": rust}[name]
        history, worker = make()
        written.append((history, write(history, worker), make.__doc__))
    spark = start_session(str(bundle(READER)), str(WORK))
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for history, path, text in written:
        commits = completed_commits(path)
        folder = given.out / history.name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "expected").mkdir(parents=True)
        entries = [
            save(spark, path, name, options, folder / "expected")
            for name, options in queries(commits)
        ]
        description = {
            "name": history.name,
            "description": " ".join(text.split()),
            "hudi_version": READER,
            "writer": history.hudi,
            "reader_of_expected": READER,
            "table_version": 9,
            "table_type": "MERGE_ON_READ",
            "steps": [step.label for step in history.steps],
            "timeline": [f"{c.requested}_{c.completion}.{c.action}" for c in commits],
            "queries": [entry for entry in entries if "expected" in entry],
            "queries_that_fail": [entry for entry in entries if "error" in entry],
        }
        (folder / "case.json").write_text(json.dumps(description, indent=1) + "\n")
        pack(path.parent, folder / "table.zip", (path.name,))
        print(history.name, len(commits), "commits", len(entries), "queries", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
