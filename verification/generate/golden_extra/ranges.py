"""Ranges of commits, and partition values."""
import datetime as dt
import os

from verification.generate.golden_extra.library import (
    BUCKET, D, HIVE, KG, NO_MDT, P, PAYLOAD, PKG, case, compact, event_time, std,
)
from verification.generate.golden_extra.slices import R, RDDL


def windows(t, **more):
    """A range from before every instant, from each instant on, and between any two that are apart."""
    t.incr("incr_all", "000", **more)
    L = t.timeline()
    for i, first in enumerate(L[:-1], 1):
        t.incr(f"incr_c{i}", first.comp, note=f"begin = instant {i}", **more)
        for j, last in enumerate(L[i + 1:-1], i + 2):
            t.incr(f"incr_c{i}_c{j}", first.comp, last.comp, note=f"begin = instant {i}, end = instant {j}", **more)


ALL_WRITERS = ("1.2.0:9", "1.2.0:8", "1.2.0:6", "1.0.2:8", "0.15.0:6")


@case("rg_late_compaction", "MOR", ALL_WRITERS, ["incremental", "late records", "compaction"],
      "a compaction copies rows that are newer, by event time, than records which a later delta commit logs; ranges that begin at each instant")
def rg_late_compaction(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT}
    t.write([(f"k{i}", "c1", 100) for i in range(1, 5)], "insert")
    t.write([("k2", "c2", 110)])
    compact(t)
    t.write([("k1", "c4", 50), ("k2", "c4", 105), ("k3", "c4", 120)])
    t.snap()
    windows(t)


@case("rg_late_compaction_inside", "MOR", ("1.2.0:9", "1.2.0:6"), ["incremental", "late records", "compaction", "deletes"],
      "late records and deletes before and after two compactions, inserts in between")
def rg_late_compaction_inside(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT, **BUCKET}
    w = lambda ids, v, ts, op="upsert": t.write([(f"k{i}", v, ts) for i in ids], op)
    w(range(8), "c1", 100); w([0, 1, 2], "c2", 120)
    compact(t)
    w([0, 3, 20], "late", 60); w([4, 5], "x", 0, "delete")
    compact(t)
    w([0, 1, 3, 4], "late2", 70); w([6, 20, 21], "c8", 130)
    t.snap()
    windows(t)


@case("rg_late_clustering", "MOR", ("1.2.0:9", "1.2.0:6"), ["incremental", "late records", "clustering"],
      "a clustering copies rows that are newer, by event time, than records which a later delta commit logs")
def rg_late_clustering(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(8), "c1", 100), "insert")
    t.write(R([0, 1], "c2", 110))
    t.sql("CALL run_clustering(table => '{t}')", NO_MDT)
    t.write(R([0, 2], "c4", 50) + R([1], "c4", 105) + R([3], "c4", 120))
    t.snap()
    windows(t)


@case("rg_late_small_file", "MOR", ("1.2.0:9", "1.2.0:6"), ["incremental", "late records", "inserts into small files"],
      "inserts rewrite a small base file with its older rows; a later delta commit logs records that lose against these")
def rg_late_small_file(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.parquet.small.file.limit": "104857600"}
    t.write([(f"k{i}", "c1", 100) for i in range(6)], "insert")
    t.write([("k10", "c2", 100), ("k11", "c2", 100)], "insert")
    t.write([("k0", "c3", 50), ("k1", "c3", 120), ("k10", "c3", 50)])
    t.write([("k2", "c4", 40), ("k12", "c4", 100)])
    t.snap()
    windows(t)


@case("rg_partial_payload", "MOR", ("1.2.0:9", "1.2.0:6"), ["incremental", "PartialUpdateAvroPayload", "compaction"],
      "values that an older base row outside the range would lend to a record of the range")
def rg_partial_payload(t):
    t.ddl = "id string, a string, b string, ts int"
    t.opts = {PAYLOAD: PKG + "PartialUpdateAvroPayload", **NO_MDT}
    t.write([(f"k{i}", f"a{i}", f"b{i}", 100) for i in range(6)], "insert")
    t.write([("k1", None, "b-c2", 110), ("k2", "a-c2", None, 90)])
    compact(t)
    t.write([("k0", "a-c4", None, 120), ("k1", "a-c4", None, 105), ("k2", None, "b-c4", 80), ("k9", None, "b-c4", 1)])
    t.write([("k0", None, "b-c5", 110), ("k3", None, None, 130)])
    t.snap()
    windows(t)


@case("rg_nondefaults_payload", "MOR", ("1.2.0:9",), ["incremental", "OverwriteNonDefaultsWithLatestAvroPayload", "compaction"],
      "as rg_partial_payload, without regard to the ordering value")
def rg_nondefaults_payload(t):
    t.ddl = "id string, a string, b string, ts int"
    t.opts = {PAYLOAD: PKG + "OverwriteNonDefaultsWithLatestAvroPayload", **NO_MDT}
    t.write([(f"k{i}", f"a{i}", f"b{i}", 100) for i in range(6)], "insert")
    t.write([("k1", None, "b-c2", 110), ("k2", "a-c2", None, 90)])
    compact(t)
    t.write([("k0", "a-c4", None, 120), ("k1", "a-c4", None, 105), ("k2", None, "b-c4", 80), ("k9", None, "b-c4", 1)])
    t.snap()
    windows(t)


@case("rg_duplicates", "MOR", ("1.2.0:9",), ["incremental", "late records", "duplicate keys", "record positions"],
      "a base file has keys twice, one of the rows from outside the range; log records meet them by position")
def rg_duplicates(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.parquet.small.file.limit": "104857600", "hoodie.write.record.positions": "true",
              "hoodie.merge.allow.duplicate.on.inserts": "true"}
    t.write([(f"k{i}", "c1", 100) for i in range(5)], "insert")
    t.write([("k1", "c2", 100), ("k2", "c2", 100), ("k7", "c2", 100)], "insert")
    t.write([("k0", "c3", 50), ("k1", "c3", 120), ("k2", "c3", 50), ("k3", "c3", 130)])
    t.write([("k4", "x", 0), ("k7", "x", 0)], "delete")
    t.snap()
    windows(t)


@case("rg_archived", "MOR", ("1.2.0:9", "1.2.0:6"), ["incremental", "late records", "archived begin", "compaction", "fallback"],
      "the range begins in the archived timeline, so that the latest slices are read; rows from before it do not take part")
def rg_archived(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT}
    w = lambda ids, v, ts: t.write([(f"k{i}", v, ts) for i in ids])
    w(range(8), "c1", 100); w([0, 1, 2], "c2", 120)
    first = t.timeline()
    compact(t)
    w([0, 3], "late", 60); w([4], "c5", 130)
    t.opts = {**t.opts, "hoodie.archive.automatic": "true", "hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1",
              "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    w([1, 5], "late2", 70); w([6], "c7", 140); w([0], "late3", 65)
    t.snap()
    t.incr("incr_all", "000")
    for i, c in enumerate(first, 1):
        t.incr(f"incr_archived{i}", c.comp, note=f"begin = instant {i}, archived")
    for i, c in enumerate(t.timeline()[:-1], 1):
        t.incr(f"incr_active{i}", c.comp, note=f"begin = active instant {i}")


def _cleaned(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**event_time(t), **NO_MDT, **t.opts}
    w = lambda ids, v, ts: t.write([(f"k{i}", v, ts) for i in ids])
    w(range(8), "c1", 100); w([0, 1, 2], "c2", 120)
    compact(t)
    c1, c2 = t.timeline()[:2]
    t.opts = {**t.opts, "hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
    w([0, 3], "c4", 130); w([1, 4], "late", 60)
    t.write([("k5", "x", 140)], "delete")
    t.snap()
    t.incr("incr_c2_alone", c1.comp, c2.comp)
    windows(t)


@case("rg_cleaned", "MOR", ("1.2.0:9",), ["incremental", "cleaned files", "compaction", "fallback"],
      "files of a range are cleaned, so that the latest slices are read, with all of their log files")
def rg_cleaned(t):
    _cleaned(t)


@case("rg_cleaned_parquet", "MOR", ("1.2.0:9",), ["incremental", "cleaned files", "compaction", "fallback", "Parquet log blocks"],
      "the same with Parquet log blocks, of which 1.2.0 leaves out the records of other commits before it merges")
def rg_cleaned_parquet(t):
    t.opts = {"hoodie.logfile.data.block.format": "parquet"}
    _cleaned(t)


STAYS = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}


def _stays(t, mk):
    """Rows that are upserted with another partition value and stay in their folder (global index)."""
    t.write([mk(i, "c1", i, 100) for i in range(8)], "insert")
    t.write([mk(i, "c2", i + 1, 110) for i in (0, 1, 4)])
    if t.ttype == "MOR":
        compact(t)
        t.write([mk(i, "c4", i + 1, 120) for i in (2, 4, 5)] + [mk(20, "c4", 1, 120)])
    t.write([mk(3, "x", 3, 130)], "delete")
    std(t, asof=9)


@case("pv_stays", "MOR", ("1.2.0:9", "1.2.0:6", "1.0.2:8"), ["global index", "row stays in its folder"],
      "a global index leaves rows whose partition value changed in their old folder; base files and log files hold the new value")
def pv_stays(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT, **STAYS}
    _stays(t, lambda i, v, p, ts: (f"k{i}", v, ts, "abc"[p % 3]))


@case("pv_stays_base", "COW", ("1.2.0:9", "1.2.0:6"), ["global index", "row stays in its folder"], "the same, COPY_ON_WRITE")
def pv_stays_base(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**NO_MDT, **STAYS}
    _stays(t, lambda i, v, p, ts: (f"k{i}", v, ts, "abc"[p % 3]))


@case("pv_stays_bloom", "MOR", ("1.2.0:9", "1.2.0:6", "0.15.0:6"), ["global index", "row stays in its folder", "Bloom index"],
      "as pv_stays, with the global Bloom index, which finds the old rows")
def pv_stays_bloom(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.index.type": "GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path": "false"}
    _stays(t, lambda i, v, p, ts: (f"k{i}", v, ts, "abc"[p % 3]))


@case("pv_stays_record", "MOR", ("1.2.0:9",), ["global index", "row stays in its folder", "record index"],
      "as pv_stays, with the record index, whose default it is")
def pv_stays_record(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), "hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true", "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX" if t.tv == 9 else "RECORD_INDEX"}
    _stays(t, lambda i, v, p, ts: (f"k{i}", v, ts, "abc"[p % 3]))


@case("pv_stays_typed", "MOR", ("1.2.0:9",), ["global index", "row stays in its folder", "hive style", "url encoding", "int, date, decimal and null partition values"],
      "the same with four partition columns of several types")
def pv_stays_typed(t):
    t.ddl, t.part = "id string, v string, ts int, p string, q int, d date, m decimal(8,2)", "p,q,d,m"
    t.opts = {KG: P + "ComplexKeyGenerator", HIVE: "true", "hoodie.datasource.write.partitionpath.urlencode": "true", **event_time(t), **NO_MDT, **STAYS,
              "hoodie.write.complex.keygen.validation.enable": "false"}
    S = ["x y", None, "a/b"]
    _stays(t, lambda i, v, p, ts: (f"k{i}", v, ts, S[p % 3], None if p % 4 == 3 else p % 2, dt.date(2024, 1, 1 + p % 2), D(p % 3) / 4))


@case("pv_stays_partial", "MOR", ("1.2.0:9",), ["global index", "row stays in its folder", "PartialUpdateAvroPayload"],
      "the same where records take values from each other")
def pv_stays_partial(t):
    t.ddl, t.part = "id string, v string, w string, ts int, region string", "region"
    t.opts = {PAYLOAD: PKG + "PartialUpdateAvroPayload", **NO_MDT, **STAYS}
    _stays(t, lambda i, v, p, ts: (f"k{i}", v if i % 2 else None, v, ts, "abc"[p % 3]))


@case("pv_ordering", "MOR", ("1.2.0:9", "1.2.0:6"), ["global index", "row stays in its folder", "partition column is the ordering column"],
      "the partition column is the ordering column too")
def pv_ordering(t):
    t.ddl, t.part, t.order = "id string, v string, day int", "day", "day"
    t.opts = {**event_time(t), **NO_MDT, **STAYS}
    t.write([(f"k{i}", "c1", 10 + i % 2) for i in range(6)], "insert")
    t.write([("k0", "c2", 11), ("k1", "c2", 10), ("k2", "c2", 12)])
    compact(t)
    t.write([("k0", "c4", 10), ("k3", "c4", 12), ("k9", "c4", 12)])
    std(t, asof=9)


@case("pv_cdc", "MOR", ("1.2.0:9",), ["global index", "row stays in its folder", "cdc"], "changes of such rows")
def pv_cdc(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT, **STAYS, "hoodie.table.cdc.enabled": "true",
              "hoodie.table.cdc.supplemental.logging.mode": "data_before_after"}
    g = lambda i, v, p, ts: (f"k{i}", v, ts, "abc"[p % 3])
    t.write([g(i, "c1", i, 100) for i in range(6)], "insert")
    t.write([g(i, "c2", i + 1, 110) for i in (0, 1, 4)])
    compact(t)
    t.write([g(i, "c4", i + 1, 120) for i in (0, 2)])
    t.snap()
    t.cdc("cdc_all", "000")


@case("rg_cdc_switched_on", "COW", ("1.2.0:9",), ["cdc", "delete"],
      "CDC is switched on after commits that deleted all rows of base files, and so wrote no CDC log")
def rg_cdc_switched_on(t):
    t.ddl, t.part = "id string, v string, ts int, region string, _hoodie_is_deleted boolean", "region"
    t.opts = {**event_time(t), **NO_MDT}
    row = lambda i, v, ts, region, gone=False: (f"k{i}", v, ts, region, gone)
    t.write([row(1, "c1", 1, "a"), row(2, "c1", 1, "a"), row(3, "c1", 1, "b")], "insert")
    t.write([row(1, "c2", 2, "a", True), row(2, "c2", 2, "a", True), row(4, "c2", 2, "a")])
    t.write([row(3, "c3", 3, "b", True)])
    switch_cdc_on(t)
    t.write([row(5, "c4", 4, "b")])
    first, second, third, _ = t.timeline()
    t.snap()
    t.cdc("cdc_all", "000")
    t.cdc("cdc_c1", "000", first.comp, "inserts only")
    t.cdc("cdc_c2", first.comp, second.comp, "two deletes and an insert")
    t.cdc("cdc_c3", second.comp, third.comp, "a delete by upsert")
    t.cdc("cdc_after_c3", third.comp)


def switch_cdc_on(t):
    """No write of 1.2.0 can do it: a conflict of configurations."""
    path = os.path.join(t.path, ".hoodie", "hoodie.properties")
    with open(path) as f:
        lines = [line for line in f if not line.startswith("hoodie.table.cdc.")]
    with open(path, "w") as f:
        f.writelines([*lines, "hoodie.table.cdc.enabled=true\n", "hoodie.table.cdc.supplemental.logging.mode=DATA_BEFORE_AFTER\n"])
    os.remove(os.path.join(t.path, ".hoodie", ".hoodie.properties.crc"))
