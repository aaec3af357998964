"""More golden tables, written and read back by Apache Hudi: rules that are easy to get wrong.

    export HUDI_GENERATOR=path/of/the/fixture/generator      # the folder that holds hudigen.py
    export HUDI_FIXTURE_ROOT=/data/hudi                      # where the tables are written (a neutral path)
    python cases_extra.py --version 1.2.0 --case all --out ../../tests/golden_extra
    python cases_extra.py --version 0.15.0 --case et_fuzz,composite3 --out ../../tests/golden_extra

Every case names its targets (bundle version and table version); a case directory is
``x_v<table version>[w<bundle>]_<cow|mor>_<name>``, without ``w`` when it is the table version
that bundle writes by itself. Contents and fields are those of hudigen.py.
``compare.py --version 1.2.0`` of the generator adds 1.2.0's answers to the tables of older bundles.
Random data is seeded by the name of the case.
"""
import argparse
import datetime as dt
import decimal
import json
import os
import sys
import threading

sys.path.insert(0, os.environ.get("HUDI_GENERATOR", os.path.dirname(os.path.abspath(__file__))))
import hudigen as H  # noqa: E402
from hudigen import ASOF, BEGIN, PAYLOAD, PKG, QT  # noqa: E402

D = decimal.Decimal
NO_MDT = {"hoodie.metadata.enable": "false"}
KG = "hoodie.datasource.write.keygenerator.class"
P = "org.apache.hudi.keygen."
HIVE = "hoodie.datasource.write.hive_style_partitioning"
SKIP = {QT: "snapshot", "hoodie.datasource.merge.type": "skip_merge"}
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
TARGETS = {}


def case(name, ttype, targets, features, desc):
    def deco(fn):
        H.case(name, ttype, versions=(5, 6, 8, 9), features=[ttype.lower()] + features, desc=desc)(fn)
        TARGETS[name] = targets
        return fn
    return deco


H.TABLE_VERSION["0.12.2"] = 5


class Table(H.T):
    """hudigen's table; versions below 6 are written and named as version 6."""

    def __init__(self, spark, version, tv, *more):
        super().__init__(spark, version, tv, *more)
        self.v6 = tv <= 6


H.T = Table


# ------------------------------------------------------------------ merge modes and queries
def event_time(t):
    if t.v6:
        return {PAYLOAD: PKG + "DefaultHoodieRecordPayload", "hoodie.payload.ordering.field": t.order.split(",")[0],
                "hoodie.payload.event.time.field": t.order.split(",")[0]}
    return {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}


def commit_time(t):
    return {PAYLOAD: PKG + "OverwriteWithLatestAvroPayload"} if t.v6 else \
        {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}


def std(t, skip=True, mid=True, incr=True, asof=3, extra=None):
    """The queries of a case: snapshot, read_optimized, skip_merge, time travel, incremental."""
    x = extra or {}
    lean = f"{t.version}:{t.tv}" not in ("1.2.0:9", "0.15.0:6", "0.12.2:5")     # the same table by another writer: fewer queries
    skip, mid = skip and not lean, mid and not lean
    L = t.timeline()
    n = len(L)
    t.query("snapshot", {QT: "snapshot", **x})
    if t.ttype == "MOR":
        t.query("read_optimized", {QT: "read_optimized", **x})
        if skip:
            t.query("snapshot_skip_merge", {**SKIP, **x})
    picks = {n // 2} if lean else {n // 2, n - 2}
    picks = sorted(picks & set(range(n))) if asof == 3 else list(range(n)) if asof == 9 else asof
    for i in picks:
        t.query(f"as_of_c{i + 1}", {ASOF: L[i].req, **x}, f"requested time of instant {i + 1} ({L[i].action})")
    if incr:
        t.query("incr_all", {QT: "incremental", BEGIN: "000", **x}, "begin before everything")
        if mid and n >= 3:
            t.query("incr_mid", {QT: "incremental", BEGIN: L[0].comp, H.END: L[n // 2].comp, **x},
                    f"begin = instant 1, end = instant {n // 2 + 1}" + ("" if t.tv < 8 else " (completion times)"))


def compact(t, op="both", conf=None):
    c = {"hoodie.compact.inline.max.delta.commits": "1", **NO_MDT, **(conf or {})}
    if op in ("both", "schedule"):
        t.sql("CALL run_compaction(op => 'schedule', table => '{t}')", c)
    if op in ("both", "run"):
        t.sql("CALL run_compaction(op => 'run', table => '{t}')", c)


# ------------------------------------------------------------------ 1. event time
def fuzz(t, keys, orders, commits="uDudDu", pdel=0.25, base=0.6, share=0.55, mk=None):
    """Random histories. u = upserts, d = upserts with _hoodie_is_deleted rows among them, D = the
    delete operation, C = compaction. ``orders`` is the domain of the ordering column(s)."""
    r = t.rng
    mk = mk or (lambda k, v, o, d: (k, v) + (o if isinstance(o, tuple) else (o,)) + (d,))
    t.write([mk(k, "base", r.choice(orders), False) for k in keys if r.random() < base], "insert")
    # 1.2.0 cannot read a delete block record with a null ordering value (NullPointerException)
    known = [o for o in orders if o is not None and not (isinstance(o, tuple) and None in o)]
    for c, kind in enumerate(commits):
        if kind == "C":
            compact(t)
            continue
        some = [k for k in keys if r.random() < (share if kind != "D" else 0.25)]
        gone = [kind == "D" or kind == "d" and r.random() < pdel for _ in some]
        t.write([mk(k, f"w{c + 1}", r.choice(known if g else orders), g and kind == "d") for k, g in zip(some, gone)],
                "delete" if kind == "D" else "upsert")
    std(t)


def simple_keys(n):
    return [f"k{i:03d}" for i in range(n)]


@case("et_fuzz", "MOR", ("1.2.0:9", "1.2.0:8", "1.2.0:6", "0.15.0:6"), ["event time", "delete rows with ordering", "delete operation", "several logs"],
      "event time on bigint 5..9: 70 keys with random histories of upserts, _hoodie_is_deleted rows and delete operations in six log files")
def et_fuzz(t):
    t.ddl = "id string, val string, ts bigint, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT}
    fuzz(t, simple_keys(70), [5, 6, 7, 8, 9], "dDdDud")


@case("et_fuzz_int", "MOR", ("1.0.2:8",), ["event time", "delete rows with ordering", "delete operation", "int ordering"],
      "as et_fuzz with an int ordering column (1.0.2 reads deletes only with int ones)")
def et_fuzz_int(t):
    t.ddl = "id string, val string, ts int, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT}
    fuzz(t, simple_keys(70), [5, 6, 7, 8, 9], "dDdDud")


@case("et_fuzz_logonly", "MOR", ("1.2.0:9",), ["event time", "delete rows with ordering", "delete operation", "log-only slices", "bucket index"],
      "as et_fuzz on a bucket index: no base file, then a compaction, then three more logs")
def et_fuzz_logonly(t):
    t.ddl = "id string, val string, ts bigint, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT, **BUCKET}
    fuzz(t, simple_keys(60), [5, 6, 7, 8], "dDdCdDd")


@case("et_int_zero_null", "MOR", ("1.2.0:9",), ["event time", "int ordering", "value 0", "null ordering"],
      "int ordering column with the values -2, -1, 0, 1, 3 and null (0 looks like the default), deletes of all kinds")
def et_int_zero_null(t):
    t.ddl = "id string, val string, ts int, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT}
    fuzz(t, simple_keys(70), [-2, -1, 0, 0, 1, 3, None], "dudDd", pdel=0.35)


@case("et_long_null", "MOR", ("1.2.0:9",), ["event time", "null ordering", "bigint"],
      "null values in a bigint ordering column, met by nulls only (Hudi fails when a null meets a value)")
def et_long_null(t):
    t.ddl = "id string, val string, ts bigint, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT}
    f = False
    t.write([("a", "base", None, f), ("b", "base", 5, f), ("c", "base", None, f)], "insert")
    t.write([("a", "w1", None, f), ("b", "w1", 5, f)])
    t.write([("a", "w2", None, f), ("c", "w2", None, f), ("d", "w2", None, f)])
    std(t)


_TYPES = {
    "string": ("string", ["", "10", "9", "b", "B", "é", "\U0001d11e", "aa"]),
    "decimal": ("decimal(12,3)", [D("-1.500"), D("0.000"), D("9.999"), D("10.000"), D("100.001"), D("-20.000")]),
    "timestamp": ("timestamp", [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1), dt.datetime(1900, 1, 1),
                                dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1), dt.datetime(2200, 1, 1)]),
    "double": ("double", [float("nan"), -0.0, 0.0, float("-inf"), float("inf"), 1.5, -2.5]),
    "date": ("date", [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1900, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    "boolean": ("boolean", [True, False]),
}
for _n, (_ty, _dom) in _TYPES.items():
    @case("et_order_" + _n, "MOR", ("1.2.0:9",),
          ["event time", f"{_n} ordering column"],
          f"event time on a {_ty} ordering column over awkward values, with delete rows (not for dates) and a delete operation")
    def _order(t, ty=_ty, dom=_dom):
        t.ddl = f"id string, val string, at {ty}, _hoodie_is_deleted boolean"
        t.order = "at"
        t.opts = {**event_time(t), **NO_MDT}
        # 1.2.0 cannot write the delete block of a row with a date ordering value (UnresolvedUnionException)
        fuzz(t, simple_keys(50), dom, "uuDu" if ty == "date" else "duDd", pdel=0.3)


@case("et_order2_null", "MOR", ("1.2.0:9",), ["event time", "two ordering fields", "null ordering"],
      "two int ordering fields, both with nulls, delete rows and delete operations")
def et_order2_null(t):
    t.ddl, t.order = "id string, val string, a int, b int, _hoodie_is_deleted boolean", "a,b"
    t.opts = {**event_time(t), **NO_MDT}
    dom = [(a, b) for a in (-1, 0, 1, None) for b in (-1, 1, None)]
    fuzz(t, simple_keys(70), dom, "dudDd")


@case("et_order3", "MOR", ("1.2.0:9",), ["event time", "three ordering fields"],
      "three ordering fields (int, string, double), delete rows and a delete operation")
def et_order3(t):
    t.ddl, t.order = "id string, val string, a int, b string, c double, _hoodie_is_deleted boolean", "a,b,c"
    t.opts = {**event_time(t), **NO_MDT}
    dom = [(a, b, c) for a in (1, 2) for b in ("10", "9") for c in (-0.0, 0.0, float("nan"))]
    fuzz(t, simple_keys(60), dom, "dudDd")


@case("et_dup_in_commit", "MOR", ("1.2.0:9",), ["event time", "one key several times in one block", "bucket index"],
      "operation insert without dedup on a bucket index: one log block holds a key several times, in falling and rising order, then upserts")
def et_dup_in_commit(t):
    t.ddl = "id string, val string, ts int"
    t.opts = {**event_time(t), **NO_MDT, **BUCKET, "hoodie.combine.before.insert": "false"}
    t.write([("a", "1", 5), ("a", "2", 7), ("a", "3", 6), ("b", "1", 9), ("b", "2", 3), ("c", "1", 4), ("c", "2", 4)], "insert", parts=1)
    t.write([("b", "3", 8), ("b", "4", 9), ("c", "3", 1), ("d", "1", 1), ("d", "2", 0), ("d", "3", 2)], "insert", parts=1)
    t.write([("a", "4", 7), ("d", "4", 1)])
    t.write([("c", "x", 9)], "delete")
    std(t)


@case("ct_dup_in_commit", "MOR", ("1.2.0:9",), ["commit time", "one key several times in one block", "bucket index"],
      "commit time ordering: operation insert without dedup on a bucket index, then upserts and a compaction")
def ct_dup_in_commit(t):
    t.ddl = "id string, val string, ts int"
    t.opts = {**commit_time(t), **NO_MDT, **BUCKET, "hoodie.combine.before.insert": "false"}
    t.write([("a", "1", 5), ("a", "2", 7), ("a", "3", 6), ("b", "1", 9), ("b", "2", 3), ("c", "1", 4)], "insert", parts=1)
    t.write([("b", "3", 8), ("b", "4", 2), ("d", "1", 1), ("d", "2", 0)], "insert", parts=1)
    compact(t)
    t.write([("a", "4", 1), ("e", "1", 1), ("a", "5", 0)], "insert", parts=1)
    t.write([("c", "x", 9)], "delete")
    std(t)


ODD = [" ", "a b", "a,b", "a:b", "id:x", "é", "e\u0301", "\U0001d11e", "\uffff", "null", "__null__", "__empty__", "'q'", "\"", "\\", "\t",
       "line\nbreak", "NULL", "0", "00", "-1", "K", "k", "%20", "x" * 300, "#HUDI#", "a$b", ".", "日本語"]


@case("odd_keys", "MOR", ("1.2.0:9",), ["special characters in keys", "unicode keys"],
      "record keys with spaces, commas, colons, combining and astral characters, line breaks, 300 characters; updates and both kinds of delete")
def odd_keys(t):
    t.ddl = "id string, val string, ts bigint, _hoodie_is_deleted boolean"
    t.opts = {**event_time(t), **NO_MDT}
    f = False
    t.write([(k, "base", 5, f) for k in ODD], "insert")
    t.write([(k, "w1", 4 + i % 3, f) for i, k in enumerate(ODD)])
    t.write([(k, None, 6, True) for k in ODD[::4]])
    t.write([(k, None, 1, f) for k in ODD[1::5]], "delete")
    t.write([(k, "w4", 6, f) for k in ODD[::3]])
    std(t)


# ------------------------------------------------------------------ 2. payload classes
def payload_fuzz(t, cls, order, mk, n=40, commits=5, op_delete=(3,), more=None, dom=(1, 2, 3, 4, 5)):
    t.opts = {PAYLOAD: PKG + cls, **NO_MDT, **(more or {})}
    if order == "ts":
        t.opts.update({"hoodie.payload.ordering.field": "ts", "hoodie.payload.event.time.field": "ts"})
    r = t.rng
    t.write([mk(i, 0, 3) for i in range(n) if r.random() < 0.7], "insert")
    for c in range(1, commits + 1):
        ids = [i for i in range(n) if r.random() < (0.15 if c in op_delete else 0.55)]
        t.write([mk(i, c, r.choice(dom)) for i in ids], "delete" if c in op_delete else "upsert")
    std(t)


def _null(t, v, p=0.4):
    return None if t.rng.random() < p else v


@case("pl_partial_nested", "MOR", ("1.2.0:9", "1.2.0:8"), ["PartialUpdateAvroPayload", "nested columns", "not-null columns"],
      "PartialUpdateAvroPayload: struct (with null fields), array, map, not-null int/string columns; several updates per key, a delete operation")
def pl_partial_nested(t):
    t.ddl = ("id int, a string, s struct<x:int,y:string>, tags array<string>, m map<string,int>, n int not null, z string not null, "
             "f boolean, ts bigint")
    mk = lambda i, c, o: (i, _null(t, f"a{c}"), _null(t, (_null(t, c), _null(t, f"y{c}"))), _null(t, [f"t{c}"] * (c % 3)),
                          _null(t, {"k": c} if c % 2 else {}), t.rng.choice([0, c]), t.rng.choice(["", f"z{c}"]), _null(t, c % 2 == 0), o)
    payload_fuzz(t, "PartialUpdateAvroPayload", "ts", mk)


for _n, _ty, _value in (("decimal", "decimal(8,2)", D), ("date", "date", lambda n: dt.date(2024, 1, n)), ("string", "string", "{:03d}".format)):
    @case("pl_partial_order_" + _n, "MOR", ("1.2.0:8", "0.15.0:6") if _n == "decimal" else ("1.2.0:8",), ["PartialUpdateAvroPayload", f"{_n} ordering column"],
          f"PartialUpdateAvroPayload ordered by {_ty}: higher, lower and equal values among log records and over base rows")
    def _partial_order(t, ty=_ty, value=_value):
        t.ddl = f"id string, ts {ty}, a string, b string"
        t.opts = {PAYLOAD: PKG + "PartialUpdateAvroPayload", **NO_MDT}
        row = lambda i, n, a, b: (i, value(n), a, b)
        t.write([row("k1", 20, "base", "base"), row("k2", 5, "base", None), row("k3", 7, "base", "base")], "insert")
        t.write([row("k1", 10, "lower", None), row("k2", 30, None, "higher"), row("k3", 7, None, "same")])
        t.write([row("k2", 25, "lower", None), row("k3", 6, None, "lower")])
        std(t)


@case("pl_partial_deletes", "MOR", ("1.2.0:9", "1.2.0:6"), ["PartialUpdateAvroPayload", "delete rows with ordering"],
      "PartialUpdateAvroPayload with _hoodie_is_deleted rows between the updates")
def pl_partial_deletes(t):
    t.ddl = "id int, a string, b int, ts bigint, _hoodie_is_deleted boolean"
    mk = lambda i, c, o: (i, _null(t, f"a{c}"), _null(t, c), o, c > 0 and t.rng.random() < 0.25)
    payload_fuzz(t, "PartialUpdateAvroPayload", "ts", mk, n=60)


@case("pl_nondefaults_deletes", "MOR", ("1.2.0:9", "0.15.0:6"), ["OverwriteNonDefaultsWithLatestAvroPayload", "deletes"],
      "OverwriteNonDefaults...: nulls, zero and empty values in nullable and not-null columns, delete rows and a delete operation")
def pl_nondefaults_deletes(t):
    t.ddl = "id int, a string, s struct<x:int,y:string>, n int not null, z string not null, ts bigint, _hoodie_is_deleted boolean"
    mk = lambda i, c, o: (i, _null(t, t.rng.choice(["", f"a{c}"])), _null(t, (_null(t, c), f"y{c}")), t.rng.choice([0, c]),
                          t.rng.choice(["", f"z{c}"]), o, c > 0 and t.rng.random() < 0.2)
    payload_fuzz(t, "OverwriteNonDefaultsWithLatestAvroPayload", "ts", mk, n=50)


@case("pl_awsdms_case", "MOR", ("1.2.0:9", "1.2.0:8"), ["AWSDmsAvroPayload", "lower-case d"],
      "AWS DMS: Op I, U, D and lower-case d, null Op, several updates per key, a delete operation")
def pl_awsdms_case(t):
    t.ddl = "id int, v string, ts bigint, Op string"
    mk = lambda i, c, o: (i, f"v{c}", o, "I" if c == 0 else t.rng.choice(["I", "U", "U", "D", "d", None]))
    payload_fuzz(t, "AWSDmsAvroPayload", None, mk, n=50)


@case("pl_mysql", "MOR", ("1.2.0:9", "0.15.0:6"), ["MySqlDebeziumAvroPayload"],
      "MySQL Debezium: bin files 9, 10, 11 and positions 5, 50, 150 in several logs, op u, c, d, D")
def pl_mysql(t):
    t.ddl = "id int, v string, _change_operation_type string, _event_bin_file string, _event_pos bigint, _event_seq string"
    t.order = "_event_bin_file,_event_pos" if t.v9 else "_event_seq"

    def mk(i, c, o):
        f, p = t.rng.choice([9, 10, 11]) if c else 10, t.rng.choice([5, 50, 150])
        return (i, f"v{c}", "c" if c == 0 else t.rng.choice(["u", "u", "c", "d", "D"]), f"mysql-bin.{f:06d}", p, f"{f:06d}.{p}")
    payload_fuzz(t, "debezium.MySqlDebeziumAvroPayload", None, mk, n=50, op_delete=())


@case("pl_postgres_toast", "MOR", ("1.2.0:9", "0.15.0:6"), ["PostgresDebeziumAvroPayload", "toast columns"],
      "Postgres Debezium: toasted string and binary columns in several logs, late rows, op u, c, d")
def pl_postgres_toast(t):
    t.ddl = "id int, v string, w string, b binary, n int, _change_operation_type string, _event_lsn bigint"
    t.order = "_event_lsn"
    U = "__debezium_unavailable_value"
    c3 = lambda x: t.rng.choice([x, U, U, None])
    mk = lambda i, c, o: (i, c3(f"v{c}") if c else "v0", c3(f"w{c}") if c else "w0", bytearray((U if c and t.rng.random() < 0.5 else f"b{c}").encode()), c, "c" if c == 0 else t.rng.choice(["u", "u", "u", "c", "d"]), o)
    payload_fuzz(t, "debezium.PostgresDebeziumAvroPayload", None, mk, n=50, op_delete=())


@case("pl_eventtime_deletes", "MOR", ("1.2.0:9", "1.2.0:6"), ["EventTimeAvroPayload", "deletes"],
      "EventTimeAvroPayload with delete rows, a delete operation and re-inserts")
def pl_eventtime_deletes(t):
    t.ddl = "id int, a string, ts bigint, _hoodie_is_deleted boolean"
    mk = lambda i, c, o: (i, f"a{c}", o, c > 0 and t.rng.random() < 0.25)
    payload_fuzz(t, "EventTimeAvroPayload", "ts", mk, n=60)


def _marker(t, ty, vals, marker):
    t.ddl = f"id int, v string, ts bigint, gone {ty}"
    mk = lambda i, c, o: (i, f"v{c}", o, t.rng.choice(vals) if c else vals[0])
    payload_fuzz(t, "DefaultHoodieRecordPayload", "ts", mk, n=40, commits=4, op_delete=(),
                 more={"hoodie.payload.delete.field": "gone", "hoodie.payload.delete.marker": marker})


@case("pl_marker_boolean", "MOR", ("1.2.0:9",), ["custom delete marker", "boolean column"], "delete marker `true` on a boolean column, with nulls")
def pl_marker_boolean(t):
    _marker(t, "boolean", [False, True, None], "true")


@case("pl_marker_int", "MOR", ("1.2.0:9",), ["custom delete marker", "int column"], "delete marker `-1` on an int column, with nulls")
def pl_marker_int(t):
    _marker(t, "int", [0, -1, 1, None], "-1")


# ------------------------------------------------------------------ 3. MERGE INTO, partial updates
PARTIAL = {"hoodie.spark.sql.merge.into.partial.updates": "true", "hoodie.spark.sql.optimized.merge.enable": "true",
           "hoodie.compact.inline": "false", **NO_MDT}


def _create(t, cols, mode, part=None, order="ts", more=""):
    n = t.cname
    t.spark.sql(f"DROP TABLE IF EXISTS {n}")
    pc = f", preCombineField='{order}'" if order else ""
    conf = {"hoodie.write.table.version": str(t.tv), "hoodie.write.auto.upgrade": "false"} if H.TABLE_VERSION[t.version] != t.tv else {}
    props = "".join(f", '{k}'='{v}'" for k, v in conf.items())
    t.spark.sql(f"""CREATE TABLE {n} ({cols}) USING hudi {f'PARTITIONED BY ({part})' if part else ''} LOCATION '{t.path}'
        TBLPROPERTIES (type='{t.ttype.lower()}', primaryKey='id'{pc}, 'hoodie.record.merge.mode'='{mode}'{props}{more})""")
    t._sql = n


def merge(t, src, what):
    t.sql(f"MERGE INTO {{t}} t USING ({src}) s ON t.id = s.id {what}", PARTIAL)


def _partial_queries(t):
    # no window with an end: Hudi then reads partial rows without their base file (garbage or a crash)
    std(t, skip=False, mid=False, asof=9)


@case("mi_stacked_event", "MOR", ("1.2.0:9",), ["MERGE INTO", "partial update log blocks", "event time"],
      "MERGE INTO partial updates stacked on different columns with rising, equal and falling ordering, explicit nulls, then a compaction and more")
def mi_stacked_event(t):
    _create(t, "id int, a string, b int, c double, s struct<x:int,y:string>, ts bigint", "EVENT_TIME_ORDERING")
    t.sql("INSERT INTO {t} VALUES " + ",".join(f"({i},'a{i}',{i},{i}.5,named_struct('x',{i},'y','y{i}'),100L)" for i in range(14)), PARTIAL)
    up = "WHEN MATCHED THEN UPDATE SET "
    v = lambda rows, names: "SELECT * FROM VALUES " + ",".join(rows) + f" AS v({names})"
    merge(t, v(["(0,'m1',110L)", "(1,'m1',90L)", "(2,CAST(NULL AS STRING),110L)", "(3,'m1',110L)", "(4,'m1',110L)", "(5,'m1',100L)"], "id,a,ts"), up + "a = s.a, ts = s.ts")
    merge(t, v(["(0,1000,120L)", "(1,1000,120L)", "(2,1000,105L)", "(3,CAST(NULL AS INT),110L)", "(6,1000,100L)"], "id,b,ts"), up + "b = s.b, ts = s.ts")
    merge(t, v(["(0,named_struct('x',9,'y',CAST(NULL AS STRING)),115L)", "(1,CAST(NULL AS STRUCT<x:INT,y:STRING>),130L)", "(7,named_struct('x',CAST(NULL AS INT),'y','n'),140L)"],
               "id,s,ts"), up + "s = s.s, ts = s.ts")
    merge(t, v(["(3,'m4',7.25D,111L)", "(4,CAST(NULL AS STRING),CAST(NULL AS DOUBLE),109L)", "(8,'m4',8.25D,99L)"], "id,a,c,ts"), up + "a = s.a, c = s.c, ts = s.ts")
    compact(t, conf=PARTIAL)
    merge(t, v(["(0,'m6',125L)", "(2,'m6',110L)", "(9,CAST(NULL AS STRING),101L)"], "id,a,ts"), up + "a = s.a, ts = s.ts")
    merge(t, v(["(0,CAST(NULL AS DOUBLE),126L)", "(9,5.0D,100L)"], "id,c,ts"), up + "c = s.c, ts = s.ts")
    _partial_queries(t)


@case("mi_mixed_event", "MOR", ("1.2.0:9", "1.2.0:8"), ["MERGE INTO", "partial update log blocks", "full upserts", "deletes", "inserts", "event time"],
      "partial updates between full upserts, MERGE deletes, DELETE FROM, re-inserts; partitions; event time; compaction at the end, then one more")
def mi_mixed_event(t):
    _create(t, "id int, a string, b int, ts bigint, region string", "EVENT_TIME_ORDERING", part="region")
    t.sql("INSERT INTO {t} VALUES " + ",".join(f"({i},'a{i}',{i},100L,'r{i % 2}')" for i in range(16)), PARTIAL)
    up = "WHEN MATCHED THEN UPDATE SET "
    v = lambda rows, names: "SELECT * FROM VALUES " + ",".join(rows) + f" AS v({names})"
    merge(t, v([f"({i},'p1',{o}L,'r{i % 2}')" for i, o in [(0, 110), (1, 110), (2, 90), (3, 110), (4, 110), (5, 120)]], "id,a,ts,region"), up + "a = s.a, ts = s.ts")
    merge(t, v([f"({i},'full2',200,{o}L,'r{i % 2}')" for i, o in [(0, 105), (1, 115), (6, 110), (30, 100)]], "id,a,b,ts,region"),
          "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    merge(t, v([f"({i},{o}L,'r{i % 2}')" for i, o in [(3, 105), (4, 120), (7, 90), (8, 100)]], "id,ts,region"), "WHEN MATCHED THEN DELETE")
    merge(t, v([f"({i},{i * 11},{o}L,'r{i % 2}')" for i, o in [(0, 130), (2, 105), (5, 110), (6, 110), (9, 130)]], "id,b,ts,region"), up + "b = s.b, ts = s.ts")
    t.sql("DELETE FROM {t} WHERE id IN (9, 10)", PARTIAL)
    merge(t, v([f"({i},'again',7,{o}L,'r{i % 2}')" for i, o in [(4, 115), (8, 101), (9, 90), (10, 300)]], "id,a,b,ts,region"),
          "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    merge(t, v([f"({i},'p7',{o}L,'r{i % 2}')" for i, o in [(10, 310), (11, 101), (30, 101), (5, 119)]], "id,a,ts,region"), up + "a = s.a, ts = s.ts")
    compact(t, conf=PARTIAL)
    merge(t, v([f"({i},{i},{o}L,'r{i % 2}')" for i, o in [(10, 320), (12, 99), (0, 129), (30, 500)]], "id,b,ts,region"), up + "b = s.b, ts = s.ts")
    _partial_queries(t)


@case("mi_mixed_commit", "MOR", ("1.2.0:9",), ["MERGE INTO", "partial update log blocks", "full upserts", "deletes", "inserts", "commit time"],
      "partial updates, full upserts, deletes and inserts by MERGE INTO under commit-time ordering without ordering field; compaction in between")
def mi_mixed_commit(t):
    _create(t, "id int, a string, b int, tags array<string>, m map<string,int>", "COMMIT_TIME_ORDERING", order=None)
    t.sql("INSERT INTO {t} VALUES " + ",".join(f"({i},'a{i}',{i},array('t{i}'),map('k',{i}))" for i in range(12)), PARTIAL)
    up = "WHEN MATCHED THEN UPDATE SET "
    v = lambda rows, names: "SELECT * FROM VALUES " + ",".join(rows) + f" AS v({names})"
    merge(t, v(["(0,'p1')", "(1,'p1')", "(2,CAST(NULL AS STRING))", "(3,'p1')"], "id,a"), up + "a = s.a")
    merge(t, v(["(0,100)", "(1,CAST(NULL AS INT))", "(4,100)"], "id,b"), up + "b = s.b")
    merge(t, v(["(0,map('z',1),array('x',CAST(NULL AS STRING)))", "(5,CAST(NULL AS MAP<STRING,INT>),array())"], "id,m,tags"), up + "m = s.m, tags = s.tags")
    merge(t, v(["(3,1)", "(6,1)"], "id,z"), "WHEN MATCHED THEN DELETE")
    merge(t, v(["(1,'full',1,array('f'),map('f',1))", "(3,'back',3,CAST(NULL AS ARRAY<STRING>),CAST(NULL AS MAP<STRING,INT>))", "(20,'new',20,array(),map())"], "id,a,b,tags,m"),
          "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    compact(t, conf=PARTIAL)
    merge(t, v(["(3,33)", "(20,CAST(NULL AS INT))", "(7,77)"], "id,b"), up + "b = s.b")
    t.sql("DELETE FROM {t} WHERE id = 7", PARTIAL)
    merge(t, v(["(20,'p9')", "(0,'p9')"], "id,a"), up + "a = s.a")
    _partial_queries(t)


# ------------------------------------------------------------------ 4. schema evolution
def _evo(t):
    t.opts = {**(event_time(t) if t.ttype == "MOR" else {}), **NO_MDT, "hoodie.write.set.null.for.missing.columns": "true"}
    t.setconf("spark.sql.parquet.enableVectorizedReader", "false")


@case("evo_promotions", "MOR", ("1.2.0:9",), ["schema evolution on write", "int to long, int, long and float to double"],
      "one column per promotion path (int to bigint, int to double, float to double, bigint to double), widened step by step over base file and logs; a compaction before the last log")
def evo_promotions(t):
    _evo(t)
    cols = lambda *ty: "id int, " + ", ".join(f"c{i} {x}" for i, x in enumerate(ty)) + ", ts bigint"
    t.write([(i, i, i * 3, i + 0.1, 2**40 + i, 100) for i in range(8)], "insert", ddl=cols("int", "int", "float", "bigint"))
    t.write([(1, 2**40, 5, 1.25, 7, 110), (2, 2**33, None, None, None, 110)], ddl=cols("bigint", "int", "float", "bigint"))
    t.write([(1, 7, 0.1, 0.7, 1.5, 120), (3, 7, -0.0, 0.1, 16777217.0, 120)], ddl=cols("bigint", "double", "double", "double"))
    compact(t, conf={"spark.sql.parquet.enableVectorizedReader": "false"})
    t.write([(4, 8, 1e21, 0.1, 1e-7, 130)], ddl=cols("bigint", "double", "double", "double"))
    std(t)


@case("evo_to_string", "MOR", ("1.2.0:9",), ["schema evolution on write", "number to string"],
      "int, bigint, float, double columns of the base file and of a log become string; old numbers are read as text")
def evo_to_string(t):
    _evo(t)
    a = "id int, i int, l bigint, f float, d double, ts bigint"
    b = "id int, i string, l string, f string, d string, ts bigint"
    t.write([(k, k, 2**40 + k, k / 3, x, 100) for k, x in enumerate([0.0, 1.5, -0.0, 1e21, 1e-7, 123456789.125, float("nan"), 100.0])], "insert", ddl=a)
    t.write([(0, -1, -2**40, 0.1, 1e7, 110), (1, 5, 6, 1e10, 12345678.9, 110)], ddl=a)
    t.write([(2, "x", "y", "z", "w", 120), (1, "late", "", None, "q", 90)], ddl=b)
    std(t)


@case("evo_nested_added", "MOR", ("1.2.0:9", "0.15.0:6"), ["schema evolution on write", "struct field added in array and map"],
      "fields added to a struct inside an array, inside a map and two levels deep; base and log blocks of three schemas, then a compaction and a log")
def evo_nested_added(t):
    _evo(t)
    d1 = "id int, arr array<struct<a:int>>, mp map<string,struct<a:int>>, deep struct<p:struct<q:int>>, ts bigint"
    d2 = "id int, arr array<struct<a:int,b:string>>, mp map<string,struct<a:int,b:string>>, deep struct<p:struct<q:int,r:string>>, ts bigint"
    d3 = ("id int, arr array<struct<a:bigint,b:string,c:array<int>>>, mp map<string,struct<a:bigint,b:string,c:struct<z:int>>>, "
          "deep struct<p:struct<q:bigint,r:string>,o:int>, ts bigint")
    t.write([(i, [(i,), (i + 1,)], {"k": (i,)}, ((i,),), 100) for i in range(7)], "insert", ddl=d1)
    t.write([(1, [(11, "b")], {"k": (11, "b"), "j": (12, None)}, ((11, "r"),), 110), (2, [], {}, None, 110)], ddl=d2)
    t.write([(3, [(2**40, "b", [1])], {"k": (2**40, "b", (5,))}, ((2**40, "r"), 3), 120), (1, None, None, None, 90)], ddl=d3)
    compact(t, conf={"spark.sql.parquet.enableVectorizedReader": "false"})
    t.write([(4, [(1, None, [])], {"k": (1, None, None)}, (None, 4), 130)], ddl=d3)
    std(t)


@case("evo_decimal_date", "MOR", ("1.2.0:9",), ["schema evolution on write", "decimal widening"],
      "decimal(8,2) to decimal(12,2) to decimal(20,4), decimal(4,1) to decimal(6,2)")
def evo_decimal_date(t):
    _evo(t)
    t.write([(i, D(i * 100 + 1).scaleb(-2), D(i).scaleb(-1), 100) for i in range(6)], "insert", ddl="id int, p decimal(8,2), q decimal(4,1), ts bigint")
    t.write([(1, D("99999999.25"), D("1.5"), 110)], ddl="id int, p decimal(12,2), q decimal(4,1), ts bigint")
    t.write([(2, D("123456789012.1234"), D("2.25"), 120)], ddl="id int, p decimal(20,4), q decimal(6,2), ts bigint")
    std(t)


@case("evo_added_after_compaction", "MOR", ("1.2.0:9",), ["schema evolution on write", "compaction", "added column"],
      "a column is added between a compaction and the next logs, in the middle of the schema, while old files stay in another partition")
def evo_added_after_compaction(t):
    t.part = "region"
    _evo(t)
    R = ["x", "y"]
    a, b = "id string, v int, ts bigint, region string", "id string, added string, v bigint, ts bigint, region string"
    t.write([(f"k{i}", i, 100, R[i % 2]) for i in range(8)], "insert", ddl=a)
    t.write([("k0", 10, 110, "x"), ("k2", 10, 90, "x")], ddl=a)
    compact(t, conf={"spark.sql.parquet.enableVectorizedReader": "false"})
    t.write([("k0", "new", 2**40, 120, "x"), ("k1", None, 1, 120, "y"), ("k20", "ins", 2, 120, "y")], ddl=b)
    t.write([("k3", "z", 1, 1, "y"), ("k4", "z", 1, 1, "x")], "delete", ddl=b)
    std(t)


@case("sor_nested_compacted", "MOR", ("1.2.0:9", "1.0.2:8"), ["schema on read", "nested rename", "drop and re-add", "reorder", "type change", "compaction"],
      "schema on read: nested rename in struct, array and map, drop and re-add, reorder, type changes; log blocks before and after, then a compaction and a log")
def sor_nested_compacted(t):
    t.setconf("spark.sql.parquet.enableVectorizedReader", "false")
    _create(t, "id int, a string, n int, f float, s struct<x:int,y:string>, arr array<struct<p:int,q:string>>, mp map<string,struct<u:int>>, ts bigint",
            "EVENT_TIME_ORDERING")
    c = {"hoodie.schema.on.read.enable": "true", "hoodie.compact.inline": "false", "hoodie.parquet.small.file.limit": "0",
         "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true", **NO_MDT}
    ins = ",".join(f"({i},'a{i}',{i},{i}.25f,named_struct('x',{i},'y','y{i}'),array(named_struct('p',{i},'q','q')),map('k',named_struct('u',{i})),100L)" for i in range(6))
    for q in [
        "INSERT INTO {t} VALUES " + ins.replace("0.25f", "CAST(0.25 AS FLOAT)").replace(".25f", ".25F"),
        "UPDATE {t} SET n = 11, ts = 110 WHERE id = 1",
        "ALTER TABLE {t} RENAME COLUMN s.y TO yy",
        "ALTER TABLE {t} RENAME COLUMN arr.element.q TO qq",
        "ALTER TABLE {t} RENAME COLUMN mp.value.u TO uu",
        "ALTER TABLE {t} ADD COLUMNS (s.z string)",
        "UPDATE {t} SET a = 'a22', ts = 120 WHERE id = 2",
        "ALTER TABLE {t} ALTER COLUMN n TYPE bigint",
        "ALTER TABLE {t} ALTER COLUMN f TYPE double",
        "ALTER TABLE {t} DROP COLUMN a",
        "ALTER TABLE {t} ADD COLUMNS (a string)",
        "ALTER TABLE {t} ALTER COLUMN f AFTER id",
        "UPDATE {t} SET a = 'a33', n = 9999999999, f = 0.1D, ts = 130 WHERE id = 3",
    ]:
        try:
            t.sql(q, c)
        except Exception as e:
            t.notes.append(f"refused: {q[:80]}: {H.err(e)[:160]}")
            if not q.startswith("ALTER"):
                raise
    c2 = {**c, "hoodie.compact.inline.max.delta.commits": "1"}
    t.sql("CALL run_compaction(op => 'schedule', table => '{t}')", c2)
    t.sql("CALL run_compaction(op => 'run', table => '{t}')", c2)
    t.sql("ALTER TABLE {t} ALTER COLUMN n TYPE string", c)
    t.sql("UPDATE {t} SET n = 'text', ts = 140 WHERE id = 4", c)
    std(t, extra={"hoodie.schema.on.read.enable": "true"}, skip=False, mid=False, asof=(0, 1, 6, 11, 12, len(t.timeline()) - 2))


# ------------------------------------------------------------------ 5. slices
RDDL = "id string, v string, ts bigint, region string"


def R(ids, v, ts, regions=("a", "b")):
    return [(f"k{i}", v, ts, regions[i % len(regions)]) for i in ids]


@case("sl_pending_rollback", "MOR", ("1.2.0:9", "1.2.0:6"), ["pending compaction", "rollback"],
      "pending compaction, two delta commits on top of it, the second rolled back, then a third")
def sl_pending_rollback(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(10), "base", 100), "insert")
    t.write(R(range(0, 10, 3), "w1", 110))
    compact(t, "schedule")
    t.write(R([0, 1, 2, 20], "w2", 120))
    x = t.write(R([1, 3, 4, 21], "gone", 130))
    if t.v6:        # 1.2.0 cannot roll back a completed instant of version 6 here: let the next write do it
        t.uncomplete(x)
    else:
        t.sql("CALL rollback_to_instant(table => '{t}', instant_time => '%s')" % x.req)
    t.write(R([4, 5], "w4", 140))
    t.write(R([0, 20], "x", 1), "delete")
    std(t)


@case("sl_two_pending", "MOR", ("1.2.0:9", "1.2.0:6"), ["two pending compactions"],
      "two pending compactions on different file groups (one per partition), delta commits on both, then one of them runs and more delta commits")
def sl_two_pending(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(12), "base", 100, ("a", "b", "c")), "insert")
    t.write([("k0", "w1", 110, "a"), ("k3", "w1", 110, "a")])
    compact(t, "schedule")
    t.write([("k1", "w2", 120, "b"), ("k0", "w2", 120, "a")])
    compact(t, "schedule")
    t.write([("k1", "w3", 115, "b"), ("k0", "w3", 130, "a"), ("k4", "w3", 130, "b"), ("k2", "w3", 130, "c")])
    t.write([("k3", "x", 0, "a"), ("k4", "x", 0, "b")], "delete")
    pend = sorted(f.split(".")[0] for f in os.listdir(t.tldir()) if f.endswith(".compaction.requested"))
    t.notes.append(f"pending compactions: {len(pend)}; the first is run after the delta commits")
    t.sql("CALL run_compaction(op => 'run', table => '{t}', timestamp => %s)" % pend[0], NO_MDT)
    t.write([("k1", "w5", 140, "b"), ("k6", "w5", 140, "a"), ("k0", "late", 1, "a")])
    std(t)


@case("sl_logcompaction_compaction", "MOR", ("1.2.0:9",), ["log compaction", "compaction"],
      "inline log compaction (compacted blocks), more logs, then a compaction, then logs and a second log compaction")
def sl_logcompaction_compaction(t):
    t.ddl = "id string, v string, ts int"
    lc = {"hoodie.log.compaction.enable": "true", "hoodie.log.compaction.inline": "true", "hoodie.log.compaction.blocks.threshold": "2"}
    t.opts = {**event_time(t), **NO_MDT, **lc}
    w = lambda ids, v, ts, op="upsert": t.write([(f"k{i}", v, ts) for i in ids], op)
    w(range(10), "base", 100, "insert"); w([0, 1, 2], "w1", 110); w([1, 2, 3], "w2", 105); w([2], "x", 1, "delete"); w([2, 4], "w4", 50)
    t.opts["hoodie.log.compaction.inline"] = "false"
    compact(t)
    w([0, 5], "w5", 130)
    t.opts["hoodie.log.compaction.inline"] = "true"
    w([0, 6], "w6", 120); w([5, 7], "w7", 140)
    t.notes.append("actions: " + ", ".join(sorted({x.action for x in t.timeline(None)})))
    std(t)


@case("sl_clustering_pending_mor", "MOR", ("1.2.0:9",), ["pending clustering"],
      "MOR: clustering planned for some partitions and not run, upserts go on in the others")
def sl_clustering_pending_mor(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(0, 12), "base", 100, ("a", "b", "c")), "insert")
    t.write(R(range(12, 18), "base2", 100, ("a",)), "insert")
    t.write([("k0", "w1", 110, "a"), ("k1", "w1", 110, "b")])
    t.sql("CALL run_clustering(table => '{t}', op => 'schedule', selected_partitions => 'a')")
    t.write([("k1", "w2", 120, "b"), ("k2", "w2", 120, "c"), ("k40", "w2", 120, "b")])
    t.write([("k4", "x", 0, "b")], "delete")
    std(t)


@case("sl_replaced_twice", "COW", ("1.2.0:9",), ["clustering", "insert overwrite table", "time travel"],
      "INSERT OVERWRITE replaces file groups while a clustering of them is pending, which then completes")
def sl_replaced_twice(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(6), "base", 100, ("a", "b")), "insert")
    t.sql("CALL run_clustering(table => '{t}', op => 'schedule')")
    t.write([("k0", "ow", 5, "a"), ("k50", "ow", 5, "a")], "insert_overwrite_table")
    t.sql("CALL run_clustering(table => '{t}', op => 'execute')")
    t.snap()
    for i, commit in enumerate(t.timeline(), 1):
        t.as_of(f"as_of_c{i}", commit.req, note=f"{commit.action}")


@case("sl_overwrite_travel", "MOR", ("1.2.0:9",), ["insert overwrite", "insert overwrite table", "time travel", "dynamic partitions"],
      "logs, insert_overwrite of one partition, logs, insert_overwrite_table, logs; time travel to every commit")
def sl_overwrite_travel(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(9), "base", 100, ("a", "b", "c")), "insert")
    t.write(R([0, 1, 2], "w1", 110, ("a", "b", "c")))
    t.write([("k0", "ow", 5, "a"), ("k50", "ow", 5, "a")], "insert_overwrite")
    t.write([("k0", "w3", 4, "a"), ("k50", "w3", 6, "a"), ("k3", "w3", 500, "a")])
    t.write([("k1", "owt", 1, "b"), ("k60", "owt", 1, "d")], "insert_overwrite_table")
    t.write([("k1", "w5", 2, "b"), ("k0", "w5", 2, "a")])
    std(t, asof=9)


@case("sl_delete_partition", "MOR", ("1.2.0:9", "1.0.2:8"), ["delete_partition", "re-insert"],
      "delete_partition of two partitions (one with logs), re-insert into one of them, updates, deletes; time travel to every commit")
def sl_delete_partition(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(9), "base", 100, ("a", "b", "c")), "insert")
    t.write([("k0", "w1", 110, "a"), ("k2", "w1", 110, "c")])
    t.write(R([0], "x", 1), "delete_partition", opts={"hoodie.datasource.write.partitions.to.delete": "a,b"})
    t.write([("k0", "back", 1, "a"), ("k33", "new", 1, "a")])
    t.write([("k0", "w4", 0, "a"), ("k33", "w4", 2, "a"), ("k2", "w4", 200, "c")])
    t.write([("k33", "x", 9, "a")], "delete")
    std(t, asof=9)


@case("sl_restore_compaction", "MOR", ("1.2.0:9", "1.2.0:6"), ["savepoint", "restore", "compaction"],
      "savepoint between delta commits, then logs, a compaction and logs on it, restore to the savepoint, then two delta commits")
def sl_restore_compaction(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT}
    t.write(R(range(10), "base", 100), "insert")
    x = t.write(R([0, 1, 2], "w1", 110))
    t.sql("CALL create_savepoint(table => '{t}', commit_time => '%s')" % x.req)
    t.write(R([1, 3, 30], "gone", 120))
    compact(t)
    t.write(R([2, 4, 31], "gone", 130))
    t.sql("CALL rollback_to_savepoint(table => '{t}', instant_time => '%s')" % x.req)
    t.write(R([1, 5, 32], "w5", 105))
    t.write(R([0], "x", 1), "delete")
    std(t)


def _savepoints(t, cleaning, archiving):
    """Two savepoints, of a delta commit and of a compaction; then cleaning, then archiving."""
    t.ddl = "id string, v string, ts int"
    t.opts = plain = {**event_time(t), **NO_MDT}
    w = lambda ids, v, ts: t.write([(f"k{i}", v, ts) for i in ids])
    w(range(4), "c1", 100); w([0, 1], "c2", 120)
    saved = [w([1, 2], "c3", 130)]
    t.sql("CALL create_savepoint(table => '{t}', commit_time => '%s')" % saved[0].req)
    w([2, 4], "c4", 140)
    compact(t)
    saved.append(t.last())
    t.sql("CALL create_savepoint(table => '{t}', commit_time => '%s')" % saved[1].req)
    t.opts = {**plain, **cleaning}
    w([0, 3], "c6", 150); w([1], "c7", 160)
    compact(t)
    w([2, 5], "c9", 170); w([0, 4], "c10", 180)
    compact(t)
    w([1], "c12", 190)
    # 1.2.0 now writes onto the slices of the savepoint: other keys would be inserted once more
    t.opts = {**plain, **archiving}
    for n, ids in enumerate(([2], [0], [3]), 13):
        w(ids, f"c{n}", 70 + 10 * n)
    t.snap()
    t.ro()
    for n, commit in enumerate(saved, 1):
        t.as_of(f"as_of_savepoint{n}", commit.req, f"requested time of a {commit.action} with a savepoint")
    t.as_of("as_of_last", t.last().req)


@case("sl_savepoints", "MOR", ("1.2.0:9",), ["savepoint", "time travel"],
      "two savepoints, of a delta commit and of a compaction; nothing is cleaned or archived")
def sl_savepoints(t):
    _savepoints(t, {}, {})


@case("sl_beyond_savepoint", "MOR", ("1.2.0:9",), ["savepoint", "time travel", "hoodie.archive.beyond.savepoint", "cleaned files"],
      "the data of sl_savepoints; hoodie.archive.beyond.savepoint archives the commits before, between and after the savepoints")
def sl_beyond_savepoint(t):
    _savepoints(t, {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"},
                {"hoodie.archive.automatic": "true", "hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2",
                 "hoodie.keep.max.commits": "3", "hoodie.archive.beyond.savepoint": "true"})


@case("sl_pending_clustering_first", "COW", ("1.2.0:9",), ["pending clustering", "first instant of the timeline"],
      "the first instant of the timeline is a clustering that has not completed")
def sl_pending_clustering_first(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT}
    first = t.write(R(range(6), "base", 100, ("a", "b")), "insert")
    t.sql("CALL run_clustering(table => '{t}', op => 'schedule')")
    t.sql("CALL run_clustering(table => '{t}', op => 'execute')")
    t.uncomplete(t.last())
    t.write(R([10, 11], "w1", 110, ("a", "b")), "insert")
    for f in os.listdir(t.tldir()):
        if f.lstrip(".").startswith(first.req):
            os.remove(os.path.join(t.tldir(), f))
    t.notes.append("simulated: the completed instant of the clustering and the instants of the first commit were removed")
    t.snap()
    t.as_of("as_of_last", t.last().req)


@case("sl_nbcc3", "MOR", ("1.2.0:9",), ["non-blocking concurrency control", "three overlapping writers", "bucket index"],
      "three overlapping delta commits on one bucket, twice, with a compaction planned between the two rounds")
def sl_nbcc3(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {**BUCKET, **event_time(t), **NO_MDT, **LOCK, "hoodie.index.bucket.engine": "SIMPLE", "hoodie.table.type": "MERGE_ON_READ",
              "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL", "hoodie.clean.failed.writes.policy": "LAZY"}
    t.write([(f"k{i}", "base", 100) for i in range(8)])
    for k in range(2):
        sets = [[(f"k{i}", f"A{k}", 100 + i % 3 + k) for i in range(0, 300)], [(f"k{i}", f"B{k}", 101 + k) for i in range(0, 8)],
                [(f"k{i}", f"C{k}", 102 - i % 3) for i in range(4, 12)]]
        dfs, errs = [t.df(s) for s in sets], []

        def go(d, op):
            try:
                t.write(None, op, df=d)
            except Exception as e:
                errs.append(e)
        ths = [threading.Thread(target=go, args=(d, "upsert")) for d in dfs]
        for th in ths:
            th.start()
        for th in ths:
            th.join()
        if errs:
            raise errs[0]
        if k == 0:
            compact(t, "schedule", conf=t.opts)
    t.write([("k0", "x", 0), ("k9", "x", 0)], "delete")
    L = t.timeline()
    t.notes.append("overlaps: " + str(sum(1 for a in L for b in L if a.req < b.req < a.comp)))
    std(t)


@case("sl_failed_stays", "MOR", ("1.2.0:9", "1.2.0:6", "0.15.0:6", "1.0.2:8"), ["uncommitted log files in the middle", "lazy cleaning of failed writes"],
      "a failed delta commit stays unrolled (LAZY policy) while later delta commits go on: its log and base files must be ignored")
def sl_failed_stays(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT, **LOCK, "hoodie.clean.failed.writes.policy": "LAZY", "hoodie.cleaner.policy.failed.writes": "LAZY",
              "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    t.write(R(range(10), "base", 100), "insert")
    t.write(R([0, 1], "w1", 110))
    x = t.write(R([0, 1, 2, 3, 40], "failed", 500))
    t.uncomplete(x)
    t.write(R([1, 2, 41], "w3", 120))
    t.write(R([3], "x", 1), "delete")
    std(t, incr=True)


@case("pt_nulls_multilevel", "MOR", ("1.2.0:9",), ["three partition levels", "null partition values", "several types"],
      "three partition columns (string, int, date) with nulls at every level, not hive style; updates, a delete, a compaction")
def pt_nulls_multilevel(t):
    t.ddl, t.part = "id string, v string, ts bigint, k int, p string, q int, r date", "p,q,r"
    t.key = "id,k"
    t.opts = {KG: P + "ComplexKeyGenerator", **event_time(t), **NO_MDT}
    g = lambda i, v, ts: (f"k{i}", v, ts, i, None if i % 4 == 3 else f"p{i % 2}", None if i % 3 == 2 else i % 2, None if i % 5 == 4 else dt.date(2024, 1, 1 + i % 2))
    t.write([g(i, "base", 100) for i in range(12)], "insert")
    t.write([g(i, "w1", 110) for i in range(0, 14, 3)])
    compact(t)
    t.write([g(i, "w2", 120) for i in (2, 3, 11)]); t.write([g(i, "x", 0) for i in (5, 7)], "delete")
    std(t)


@case("pt_nulls_hive", "MOR", ("1.2.0:9",), ["two partition levels", "null partition values", "hive style", "url encoding"],
      "two hive-style, url-encoded partition columns with null and special values; updates and a delete")
def pt_nulls_hive(t):
    t.ddl, t.part = "id string, p string, v string, q string, k int, ts bigint", "p,q"
    t.key = "id,k"
    t.opts = {KG: P + "ComplexKeyGenerator", HIVE: "true", "hoodie.datasource.write.partitionpath.urlencode": "true", **event_time(t), **NO_MDT}
    S, U = ["x", None, "a/b", "ü"], ["1", None, "p=q"]
    g = lambda i, v, ts: (f"k{i}", S[i % 4], v, U[i % 3], -i, ts)
    t.write([g(i, "base", 100) for i in range(12)], "insert")
    t.write([g(i, "w1", 110) for i in range(0, 12, 2)]); t.write([g(i, "x", 0) for i in (4, 5)], "delete")
    std(t)


@case("sl_consistent_resize", "MOR", ("1.2.0:9", "1.0.2:8"), ["bucket index", "consistent hashing", "resize by clustering"],
      "consistent hashing buckets split by clustering, then updates and deletes in the new buckets")
def sl_consistent_resize(t):
    t.ddl = "id string, v string, ts int"
    t.opts = {"hoodie.index.type": "BUCKET", "hoodie.index.bucket.engine": "CONSISTENT_HASHING", "hoodie.bucket.index.num.buckets": "2",
              "hoodie.bucket.index.min.num.buckets": "1", "hoodie.bucket.index.max.num.buckets": "4", "hoodie.bucket.index.split.threshold": "1.0",
              "hoodie.bucket.index.merge.threshold": "0.000001",
              "hoodie.parquet.max.file.size": "1000", **event_time(t), **NO_MDT}
    cl = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1",
          "hoodie.clustering.plan.strategy.class": "org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
          "hoodie.clustering.execution.strategy.class": "org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy",
          "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy"}
    w = lambda ids, v, ts, op="upsert", o=None: t.write([(f"k{i}", v, ts) for i in ids], op, opts=o)
    w(range(40), "base", 100)
    w(range(0, 40, 3), "w1", 110)
    w([1, 2], "w2", 120, o=cl)
    w([0, 1, 50], "w3", 105)
    w([2, 3], "x", 0, "delete")
    t.notes.append("file groups: " + str(len({f.lstrip(".").split("_")[0] for f in os.listdir(t.path) if not f.endswith(".crc") and "-" in f})))
    std(t)


def change_version(t, to):
    """Upgrade or downgrade the table, which is written in that version from then on."""
    number = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"].index(to)
    verb = "upgrade" if number > t.tv else "downgrade"
    t.sql(f"CALL {verb}_table(table => '{{t}}', to_version => '{to}')", t.opts)
    t.tv, t._sql, t.v6, t.v8, t.v9 = number, None, number < 8, number == 8, number == 9


@case("rg_upgraded_archived", "MOR", ("1.2.0:9",), ["downgrade", "upgrade", "archived timeline", "cleaning", "compaction"],
      "version 9 with archiving, `downgrade_table` to SIX, upserts of version 6 that archive and clean, `upgrade_table` to NINE: the files of the history have the names of other instants; then an upsert")
def rg_upgraded_archived(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**commit_time(t), **NO_MDT, "hoodie.clean.automatic": "true", "hoodie.archive.automatic": "true", "hoodie.clean.commits.retained": "2",
              "hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4", "hoodie.commits.archival.batch": "1"}
    t.write(R(range(8), "base", 100), "insert")
    for k in range(6):
        t.write(R([0, 3, k + 10], f"a{k}", 110 + k))
    compact(t, conf=t.opts)
    t.write(R([0, 4], "a9", 130))
    change_version(t, "SIX")
    del t.opts["hoodie.write.record.merge.mode"]
    t.opts |= commit_time(t)
    for k in range(3):
        t.write(R([0, 1, 20 + k], f"b{k}", 200 + k))
    compact(t, conf=t.opts)
    t.write(R([6, 21], "b9", 230))
    change_version(t, "NINE")
    t.opts = {k: v for k, v in t.opts.items() if k != PAYLOAD}
    std(t, asof=9)


@case("rg_upgraded_again", "MOR", ("1.2.0:8",), ["downgrade", "upgrade", "archived timeline", "cleaning", "compaction"],
      "version 9 with archiving, downgraded to 8 and to 6, upserts of each version that archive and clean, upgraded to 8 again: log files of version 6 whose commits are archived")
def rg_upgraded_again(t):
    t.ddl, t.part = RDDL, "region"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.clean.automatic": "true", "hoodie.archive.automatic": "true", "hoodie.clean.commits.retained": "2",
              "hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4", "hoodie.commits.archival.batch": "1"}
    t.write(R(range(8), "base", 100), "insert")
    for k in range(5):
        t.write(R([0, 3, k + 10], f"a{k}", 120 + k))
    compact(t, conf=t.opts)
    t.write(R([0, 4], "a9", 130))
    for n, version in enumerate(("SIX", "EIGHT"), 2):
        change_version(t, version)
        if n == 2:
            del t.opts["hoodie.write.record.merge.mode"]
            t.opts |= event_time(t)
            t.write(R([1, 4, 22], "after2", 202))
            t.write(R([0, 22], "later2", 302))
            t.write(R([4], "x", 400), "delete")
            compact(t, conf=t.opts)
            t.write(R([6, 22], "last2", 502))
    t.opts = {k: v for k, v in t.opts.items() if k != PAYLOAD}
    std(t, asof=9)


for _to in ("ZERO", "THREE"):
    @case(f"sl_downgraded_{_to.lower()}", "MOR", ("0.15.0:6",), ["downgrade", "compaction", "deletes"],
          f"version 6: insert, upserts, a delete, a compaction, more logs, `downgrade_table` to {_to}; time travel to every commit")
    def _downgraded(t, to=_to):
        t.ddl, t.part = RDDL, "region"
        t.opts = {**event_time(t), **NO_MDT}
        t.write(R(range(8), "base", 100), "insert")
        t.write(R([0, 1, 2, 9], "w1", 110)); t.write(R([2, 5], "x", 120), "delete")
        compact(t)
        t.write(R([0, 3], "w4", 105)); t.write(R([1, 10], "w5", 130))
        change_version(t, to)
        std(t, asof=9)


@case("sl_row_groups", "MOR", ("1.2.0:9",), ["many row groups", "record positions"],
      "a base file of many small row groups and pages, updates and deletes across them")
def sl_row_groups(t):
    t.ddl = "id string, v string, ts bigint"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.parquet.block.size": "4096", "hoodie.parquet.page.size": "1024"}
    t.write([(f"k{i:05d}", f"v{i * 7919 % 1000}", 100) for i in range(1500)], "insert", parts=1)
    t.write([(f"k{i:05d}", "u", 90 + i % 20) for i in range(0, 1600, 37)])
    t.write([(f"k{i:05d}", "x", 0) for i in range(5, 1500, 131)], "delete")
    std(t, incr=False)


@case("sl_many_groups", "MOR", ("1.2.0:9",), ["several file groups per partition", "some with logs, some without"],
      "several file groups per partition (small insert splits), updates in some of them, a compaction of those, further logs")
def sl_many_groups(t):
    t.ddl, t.part = "id string, v string, ts int, region string", "region"
    t.opts = {**event_time(t), **NO_MDT, "hoodie.copyonwrite.insert.auto.split": "false", "hoodie.copyonwrite.insert.split.size": "4"}
    t.write(R(range(24), "base", 100), "insert")
    t.write(R(range(0, 24, 5), "w1", 110) + R([30, 31], "w1", 110))
    compact(t)
    t.write(R([0, 1, 2, 30], "w2", 105)); t.write(R([3, 5], "x", 0), "delete")
    std(t)


@case("composite3", "MOR", ("1.2.0:9", "0.15.0:6"), ["three-part key", "null and empty key parts"],
      "ComplexKeyGenerator with three key columns (string, int, date), null and empty parts, colons and commas inside; updates and deletes")
def composite3(t):
    t.ddl, t.key, t.part = "a string, b int, c date, v string, ts bigint, region string", "a,b,c", "region"
    t.opts = {KG: P + "ComplexKeyGenerator", **event_time(t), **NO_MDT}
    A = ["x", "", None, "p,q", "a:1", "__null__"]
    g = lambda i, v, ts: (A[i % 6], None if i % 7 == 6 else i, None if i % 5 == 4 else dt.date(1969, 12, 25 + i % 6), v, ts, "ab"[i % 2])
    t.write([g(i, "base", 100) for i in range(20)], "insert")
    t.write([g(i, "w1", 95 + i) for i in range(0, 20, 2)])
    t.write([g(i, "x", 0) for i in (1, 2, 4, 12)], "delete")
    t.write([g(i, "w3", 101) for i in (2, 6, 13)])
    std(t)


@case("virtual_composite", "MOR", ("1.2.0:9",), ["populate.meta.fields=false", "composite key", "deletes"],
      "virtual keys with a two-column key (string, int), partitions, delete rows and a delete operation, re-inserts")
def virtual_composite(t):
    t.ddl, t.key, t.part = "a string, b int, v string, ts bigint, region string, _hoodie_is_deleted boolean", "a,b", "region"
    t.opts = {KG: P + "ComplexKeyGenerator", **event_time(t), **NO_MDT, "hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}
    g = lambda i, v, ts, d=False: (f"a{i % 3}" if i % 5 else "x:y,z", i, v, ts, "ab"[i % 2], d)
    t.write([g(i, "base", 100) for i in range(14)], "insert")
    t.write([g(i, "w1", 95 + i) for i in range(0, 16, 2)])
    t.write([g(i, None, 90 + i * 2, True) for i in (1, 4, 9)]); t.write([g(i, "x", 0) for i in (2, 3, 8)], "delete")
    t.write([g(i, "w4", 101) for i in (2, 3, 9, 5)])
    std(t, incr=False)


@case("virtual_typed_key", "MOR", ("1.2.0:9",), ["populate.meta.fields=false", "bigint key"],
      "virtual keys on one bigint column with negative values, deletes")
def virtual_typed_key(t):
    t.ddl = "id bigint, v string, ts bigint"
    t.opts = {KG: P + "NonpartitionedKeyGenerator", **event_time(t), **NO_MDT, "hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}
    g = lambda i, v, ts: ((-1) ** i * 10 ** i, v, ts)
    t.write([g(i, "base", 100) for i in range(10)], "insert")
    t.write([g(i, "w1", 96 + i) for i in range(0, 12, 2)]); t.write([g(i, "x", 0) for i in (1, 4)], "delete"); t.write([g(4, "back", 200)])
    std(t, incr=False)


@case("drop_partition_columns", "MOR", ("1.2.0:9",), ["drop partition columns", "two partition columns", "compaction"],
      "hoodie.datasource.write.drop.partition.columns=true: string and int partition columns only in the path; logs, a compaction, more logs")
def drop_partition_columns(t):
    t.ddl, t.part = "id string, region string, v string, k int, n int, ts bigint", "region,n"
    t.key = "id,k"
    t.opts = {KG: P + "ComplexKeyGenerator", HIVE: "true", "hoodie.datasource.write.drop.partition.columns": "true", **event_time(t), **NO_MDT}
    g = lambda i, v, ts: (f"k{i}", "ab"[i % 2], v, i, i % 3, ts)
    t.write([g(i, "base", 100) for i in range(10)], "insert")
    t.write([g(i, "w1", 110) for i in range(0, 12, 4)])
    compact(t, conf={"hoodie.datasource.write.drop.partition.columns": "true"})
    t.write([g(i, "w2", 105) for i in (0, 1)]); t.write([g(i, "x", 0) for i in (2, 8)], "delete")
    std(t)


# ------------------------------------------------------------------ 6. tables of an older release
def _region(i):
    return ("a", "b", "c")[i % 3]


@case("old_event", "MOR", ("0.12.2:5",), ["table version 5", "event time", "compaction", "deletes"],
      "table version 5: DefaultHoodieRecordPayload, late updates, delete rows with ordering, a delete operation, a compaction, more logs; metadata table")
def old_event(t):
    t.ddl, t.part = "id string, v string, ts bigint, _hoodie_is_deleted boolean, region string", "region"
    t.opts = {PAYLOAD: PKG + "DefaultHoodieRecordPayload", "hoodie.payload.ordering.field": "ts", "hoodie.payload.event.time.field": "ts"}
    g = lambda ids, v, ts, d=False: [(f"k{i}", v, ts + i % 3, d, _region(i)) for i in ids]
    t.write(g(range(15), "base", 100), "insert")
    t.write(g(range(0, 15, 2), "w1", 101) + g([20], "w1", 1))
    t.write(g([1, 2, 3], None, 101, True) + g([4, 5], "w2", 99))
    t.write(g([6], "x", 1), "delete")
    compact(t)
    t.write(g([1, 4, 6, 7], "w4", 100)); t.write(g([8], "x", 1), "delete")
    std(t)


@case("old_latest", "MOR", ("0.12.2:5",), ["table version 5", "default payload", "no metadata table", "inline compaction"],
      "table version 5: OverwriteWithLatestAvroPayload (the release's default), no partitions, inline compaction after three delta commits")
def old_latest(t):
    t.ddl = "id string, v string, n int, ts bigint"
    t.opts = {**NO_MDT, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    g = lambda ids, v, ts: [(f"k{i}", v, None if i % 4 == 1 else i, ts) for i in ids]
    t.write(g(range(10), "base", 100), "insert"); t.write(g([0, 1, 2], "w1", 90)); t.write(g([2, 3], "x", 1), "delete")
    t.write(g([2, 4, 12], "w3", 110)); t.write(g([5, 12], "w4", 50)); t.write(g([0], "x", 1), "delete")
    std(t)


@case("old_basic", "COW", ("0.12.2:5",), ["table version 5", "hive style", "null partition value", "insert overwrite"],
      "table version 5: updates, deletes, insert_overwrite, a null partition value, hive style")
def old_basic(t):
    t.ddl, t.part = "id string, v string, d date, p decimal(10,2), ts bigint, region string", "region"
    t.opts = {HIVE: "true", KG: P + "SimpleKeyGenerator", **NO_MDT}
    g = lambda ids, v, ts: [(f"k{i}", v, dt.date(2024, 1, 1 + i), D(i).scaleb(-1), ts, None if i % 4 == 3 else _region(i)) for i in ids]
    t.write(g(range(12), "base", 100), "insert"); t.write(g([0, 3, 5, 20], "w1", 110)); t.write(g([1, 7], "x", 200), "delete")
    t.write(g([2, 14], "ow", 1), "insert_overwrite"); t.write(g([2, 0], "w4", 120))
    std(t)


# ------------------------------------------------------------------ 7. types of 1.2.0
def _typed(t, col, ty, vals, more=None):
    _create(t, f"id int, {col} {ty}, ts bigint", "EVENT_TIME_ORDERING")
    c = {"hoodie.compact.inline": "false", "hoodie.parquet.small.file.limit": "0", **NO_MDT}
    t.sql("INSERT INTO {t} VALUES " + ",".join(f"({i},{v},100L)" for i, v in enumerate(vals)), c)
    t.sql(f"MERGE INTO {{t}} t USING (SELECT 1 id, {vals[0]} {col}, 110L ts UNION ALL SELECT 2, {vals[1]}, 90L) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *", c)
    t.sql(f"INSERT INTO {{t}} VALUES (9,{vals[1]},100L)", c)
    t.sql("DELETE FROM {t} WHERE id = 0", c)
    std(t, skip=False, extra=more)


@case("ty_vector_float", "MOR", ("1.2.0:9",), ["VECTOR"], "a VECTOR(3) column (floats)")
def ty_vector_float(t):
    _typed(t, "emb", "VECTOR(3)", ["array(CAST(1.5 AS FLOAT),CAST(-0.25 AS FLOAT),CAST(0 AS FLOAT))", "array(CAST(2 AS FLOAT),CAST(3 AS FLOAT),CAST(4 AS FLOAT))", "NULL",
                                   "array(CAST('NaN' AS FLOAT),CAST('Infinity' AS FLOAT),CAST(1 AS FLOAT))"])


@case("ty_vector_double", "MOR", ("1.2.0:9",), ["VECTOR", "DOUBLE"], "a VECTOR(2, DOUBLE) column")
def ty_vector_double(t):
    _typed(t, "emb", "VECTOR(2, DOUBLE)", ["array(1.5D,-0.25D)", "array(1e300D,0.1D)", "NULL"])


@case("ty_blob_inline", "MOR", ("1.2.0:9",), ["BLOB", "inline"], "a BLOB column with inline data and out-of-line references, read with inline content")
def ty_blob_inline(t):
    n = "CAST(NULL AS STRUCT<external_path:STRING,offset:BIGINT,length:BIGINT,managed:BOOLEAN>)"
    _typed(t, "data", "BLOB", [f"named_struct('type','INLINE','data',X'00FF10','reference',{n})", f"named_struct('type','INLINE','data',X'','reference',{n})", "NULL",
           "named_struct('type','OUT_OF_LINE','data',CAST(NULL AS BINARY),'reference',named_struct('external_path','/somewhere/a.bin','offset',5L,'length',10L,'managed',false))"],
           {"hoodie.read.blob.inline.mode": "CONTENT"})


# ------------------------------------------------------------------ ranges and partition values
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


# ------------------------------------------------------------------ types of Avro that Spark has not
class AvroTable:
    """A table that the write client takes records of an Avro schema for, as Hudi's streamer and Java users do."""

    def __init__(self, t, columns, order="", **options):
        self.t, self.jvm, self.order = t, t.spark.sparkContext._jvm, order
        self.hudi = self.jvm.org.apache.hudi
        self.opts = {"hoodie.auto.commit": "false", "hoodie.embed.timeline.server": "false", "hoodie.index.type": "SIMPLE", **NO_MDT,
                     "hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false", "hoodie.table.name": t.cname,
                     "hoodie.datasource.write.precombine.field": order, "hoodie.payload.ordering.field": order,
                     **{f"hoodie.{of}.shuffle.parallelism": "1" for of in ("insert", "upsert")}, **options}
        self.columns = columns
        if t.hudi1:
            self.opts |= {"hoodie.write.table.version": str(t.tv), "hoodie.write.auto.upgrade": "false"}
        payload = PKG + ("DefaultHoodieRecordPayload" if order else "OverwriteWithLatestAvroPayload")
        conf = {"hoodie.table.name": t.cname, "hoodie.table.type": "MERGE_ON_READ" if t.ttype == "MOR" else "COPY_ON_WRITE",
                "hoodie.table.recordkey.fields": "id", "hoodie.table.keygenerator.class": P + "NonpartitionedKeyGenerator",
                "hoodie.table.base.file.format": "PARQUET"}
        conf |= {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING" if order else "COMMIT_TIME_ORDERING"} if t.hudi1 else {}
        if order:
            conf["hoodie.table." + ("ordering.fields" if t.version >= "1.1" else "precombine.field")] = order
        client = self.hudi.common.table.HoodieTableMetaClient
        builder = (client.newTableBuilder() if t.hudi1 else client.withPropertyBuilder()).fromProperties(self._properties(conf))
        builder = builder.setTableVersion(t.tv) if t.hudi1 else builder.setPayloadClassName(payload)
        hadoop = t.spark.sparkContext._jsc.hadoopConfiguration()
        builder.initTable(self.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(hadoop), t.path)

    def write(self, rows, op="upsert"):
        """Rows have the values of Avro's JSON, in the order of the columns."""
        fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in self.columns.items()]
        schema = json.dumps({"type": "record", "name": "row", "namespace": "golden", "fields": fields})
        config = self.hudi.config.HoodieWriteConfig.newBuilder().withPath(self.t.path).withSchema(schema)
        config = config.withProps(self._properties(self.opts)).build()
        context = self.hudi.client.common.HoodieSparkEngineContext(self.t.spark.sparkContext._jsc)
        client = self.hudi.client.SparkRDDWriteClient(context, config)
        try:
            instant = client.startCommit()
            records = self.t.spark.sparkContext._jsc.parallelize(self._records(rows, schema), 1)
            client.commit(instant, (client.insert if op == "insert" else client.upsert)(records, instant))
        finally:
            client.close()

    def _records(self, rows, schema):
        avro, model = self.jvm.org.apache.avro, self.hudi.common.model
        parsed, found = avro.Schema.Parser().parse(schema), self.jvm.java.util.ArrayList()
        for row in rows:
            row = dict(zip(self.columns, row, strict=True))
            branches = {n: v if v is None else {k if isinstance(k, str) else k["type"]: v} for (n, k), v in zip(self.columns.items(), row.values())}
            decoder = avro.io.DecoderFactory.get().jsonDecoder(parsed, json.dumps(branches))
            record = avro.generic.GenericDatumReader(parsed).read(None, decoder)
            if self.order:
                payload = model.DefaultHoodieRecordPayload(record, self.jvm.java.lang.Long.valueOf(row[self.order]))
            else:
                payload = model.OverwriteWithLatestAvroPayload(record, self.jvm.java.lang.Integer.valueOf(0))
            found.add(model.HoodieAvroRecord(model.HoodieKey(row["id"], ""), payload))
        return found

    def _properties(self, values):
        found = self.jvm.java.util.Properties()
        for key, value in values.items():
            found.setProperty(key, value)
        return found


def _long(logical):
    return {"type": "long", "logicalType": logical}


@case("ty_order_millis", "MOR", ("1.2.0:9",), ["event time", "timestamp-millis ordering column", "delete rows with ordering"],
      "event time on an Avro timestamp-millis: deletes of lower, equal and higher values, later records below and above them")
def ty_order_millis(t):
    table = AvroTable(t, {"id": "string", "ts": _long("timestamp-millis"), "v": "string", "_hoodie_is_deleted": "boolean"}, "ts")
    row = lambda i, n, v, gone=False: (f"k{i}", 1_700_000_000_000 + n, v, gone)
    table.write([row(i, 10, "base") for i in range(9)], "insert")
    table.write([row(i, n, "gone", True) for i, n in enumerate([5, 10, 20, 20, 20, 5])])
    table.write([row(3, 15, "between"), row(4, 25, "above"), row(5, 7, "below"), row(6, 12, "above"), row(7, 3, "below")])
    std(t)


for _n, _format in (("avro", {}), ("parquet", {"hoodie.logfile.data.block.format": "parquet"})):
    @case("ty_local_units_" + _n, "MOR", ("1.2.0:9", "1.0.2:8"), ["local-timestamp-millis", "local-timestamp-micros", "schema evolution on write"],
          f"local timestamps whose unit a later schema changes, in base files and {_n.title()} log blocks")
    def _local_units(t, form=_format):
        columns = {"id": "string", "a": _long("local-timestamp-millis"), "b": _long("local-timestamp-micros"), "m": _long("timestamp-millis")}
        table = AvroTable(t, columns, **form)
        moment = 1_700_000_000_123
        row = lambda i, n: (f"k{i}", moment + n, moment + n, moment + n)
        table.write([row(i, 0) for i in range(4)], "insert")
        table.write([row(0, 1), row(1, 1)])
        table.columns = {**columns, "a": columns["b"], "b": columns["a"]}
        table.write([row(1, 2), row(2, 2)])
        table.write([row(8, 3), row(9, 3)], "insert")
        std(t, asof=9)
        first, second, *_ = t.timeline()
        t.incr("incr_c2", first.comp, second.comp, "log records of the first schema alone")


# ------------------------------------------------------------------ Spark's legacy calendar
REBASE = {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY", "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
          "spark.sql.avro.datetimeRebaseModeInWrite": "LEGACY"}
ANCIENT = [dt.datetime(2, 1, 1), dt.datetime(1001, 1, 1, 1, 2, 3), dt.datetime(1500, 3, 1, 12), dt.datetime(1582, 10, 4, 23, 59, 59, 999000),
           dt.datetime(1582, 10, 15), dt.datetime(1799, 5, 6, 7, 8, 9, 123000), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2020, 2, 29, 1, 1, 1)]
SPARK_RECORDS = {"hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger",
                 "hoodie.datasource.write.record.merger.impls": "org.apache.hudi.HoodieSparkRecordMerger"}      # up to 0.15
OUTPUTS = ("TIMESTAMP_MICROS", "INT96", "TIMESTAMP_MILLIS")


def ancient(t, writer, regions="abc", ts=100, shift=0):
    """Rows of every ancient moment in each region."""
    def row(n, region):
        at = ANCIENT[n] + dt.timedelta(days=shift)
        born = at.date() if n else dt.date(1, 1, 1)     # Python cannot collect a timestamp of the year 1
        return (f"{region}{n}", writer, born, at, (at.date(), at), [at, None], {"k": at.date()}, ts, region)
    return [row(n, region) for region in regions for n in range(len(ANCIENT))]


for _n, _format in (("avro", {}), ("parquet", {"hoodie.logfile.data.block.format": "parquet", **SPARK_RECORDS})):
    @case("ty_legacy_" + _n, "MOR", ("1.2.0:9", "0.15.0:6"), ["legacy calendar", "INT96", "timestamp-millis", "dates", f"{_n.title()} log blocks"],
          f"dates and timestamps from the year 1 on in Spark's legacy calendar, nested too; base files with microseconds, with INT96 and milliseconds up to 0.15; {_n.title()} log blocks, a compaction from version 8 on, a log in the new calendar")
    def _legacy(t, form=_format):
        t.ddl = "id string, v string, born date, seen timestamp, s struct<d:date,t:timestamp>, l array<timestamp>, m map<string,date>, ts bigint, region string"
        t.part = "region"
        t.opts = {**event_time(t), **NO_MDT, **form}
        t.setconf("spark.sql.avro.datetimeRebaseModeInRead", "CORRECTED")
        t.setconf("spark.sql.parquet.enableVectorizedReader", "false")
        t.new_lists()
        for k, v in REBASE.items():
            t.spark.conf.set(k, v)
        t.notes.append("written with " + ", ".join(f"{k}={v}" for k, v in REBASE.items()) + ", but for the last commit")
        for region, output in zip("abc", OUTPUTS):
            t.write(ancient(t, output.lower(), region), "bulk_insert", opts={"hoodie.parquet.outputtimestamptype": output})
        t.write([r for r in ancient(t, "log", ts=110, shift=1) if r[0][1] in "1357"])
        if not t.v6:        # 0.15.0 cannot compact INT96
            compact(t, conf=form)
        for k in REBASE:
            t.setconf(k, "CORRECTED")
        t.write([r for r in ancient(t, "corrected", ts=120, shift=2) if r[0][1] in "37"])
        std(t, asof=9)


# ------------------------------------------------------------------ names in another case, other types
ADAPT = {"hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true"}
PARQUET_LOGS = {"hoodie.logfile.data.block.format": "parquet"}
for _n, _format in (("avro", {}), ("parquet", PARQUET_LOGS)):
    @case("evo_case_" + _n, "MOR", ("1.2.0:9", "0.15.0:6"), ["schema evolution on write", "column names in another case", f"{_n.title()} log blocks"],
          f"a column and a nested field change from State and s.City to state and s.city; base files and {_n.title()} log blocks of both, a compaction, more logs")
    def _evo_case(t, form=_format):
        t.part = "region"
        _evo(t)
        t.opts |= {**ADAPT, **form, "hoodie.write.set.null.for.missing.columns": None}
        old = "id string, State string, s struct<City:string,n:int>, ts bigint, region string"
        row = lambda i, v, ts: (f"k{i}", f"{v}{i}", (f"c{v}{i}", i), ts, "ab"[i % 2])
        t.write([row(i, "st", 100) for i in range(8)], "insert", ddl=old)
        t.write([row(i, "log", 110) for i in (0, 1, 2)], ddl=old)
        t.write([row(i, "new", 120) for i in (8, 9)], "insert", ddl=old.lower())
        t.write([row(i, "low", 130) for i in (1, 3, 9)], ddl=old.lower())
        std(t, asof=9)


@case("evo_case_mixed", "MOR", ("1.2.0:9",), ["schema evolution on write", "column names in another case", "compaction"],
      "as evo_case_avro, with a key, an ordering and a partition column in another case; a compaction between the logs")
def evo_case_mixed(t):
    t.key, t.order, t.part = "id", "ts", "region"
    _evo(t)
    t.opts |= {**ADAPT, "hoodie.write.set.null.for.missing.columns": None}
    old = "id string, State string, Amount double, ts bigint, region string"
    row = lambda i, v, ts: (f"k{i}", f"{v}{i}", i / 4, ts, "ab"[i % 2])
    t.write([row(i, "st", 100) for i in range(8)], "insert", ddl=old)
    t.write([row(i, "new", 120) for i in (8, 9, 0)], ddl=old.lower())
    compact(t, conf={"spark.sql.parquet.enableVectorizedReader": "false"})
    t.write([row(i, "low", 130) for i in (1, 3, 9)], ddl=old.lower())
    std(t, asof=9)


@case("evo_retyped", "MOR", ("1.2.0:9",), ["schema evolution on write", "dropped and added again with another type"],
      "columns of text, numbers and booleans are dropped and added again: text as int, double, boolean and date, numbers as text, as another number and as boolean, boolean as int")
def evo_retyped(t):
    _evo(t)
    t.opts |= ADAPT
    old = "id int, a string, b string, c string, d string, e bigint, f double, g int, h boolean, j decimal(8,2), ts bigint"
    new = "id int, a int, b double, c boolean, d date, e string, f int, g boolean, h int, j string, ts bigint"
    A = ["1", " 42 ", "-7", "1.5", "abc", "", None, "2147483647"]
    B = ["1.5", "1e3", " 2 ", "NaN", "x", "", None, "-0"]
    C = ["true", "FALSE", "t", "1", "yes", "maybe", None, "0"]
    E = ["2024-01-31", "2024-1-1", "1970-01-01 10:00:00", "x", "", "2024-02-30", None, "0001-01-01"]
    rows = [(i, A[i], B[i], C[i], E[i], 10**10 + i, i + 0.75, i % 2, i % 2 == 0, D(i * 125).scaleb(-2), 100) for i in range(8)]
    t.write(rows, "insert", ddl=old)
    t.write([(i, 100 + i) for i in (7,)], ddl="id int, ts bigint")
    t.write([(6, 66, 6.5, True, dt.date(2020, 6, 6), "text", 6, False, 6, "j", 120), (20, 1, 1.0, False, dt.date(2020, 1, 1), "x", 1, True, 1, "y", 120)], ddl=new)
    std(t, asof=9)


for _n, _block in (("", "parquet"), ("_avro", "avro")):
    @case("evo_decimals_beyond" + _n, "MOR", ("1.2.0:9",), ["schema evolution on write", "dropped and added again with another type"],
          f"columns become decimals of fewer digits, and some values do not fit; {_block} log blocks")
    def _evo_beyond(t, block=_block):
        _evo(t)
        t.opts |= {**ADAPT, "hoodie.logfile.data.block.format": block}
        old = "id int, a decimal(12,2), b double, c float, d bigint, e string, ts bigint"
        new = "id int, a decimal(8,1), b decimal(5,2), c decimal(12,2), d decimal(5,2), e decimal(5,2), ts bigint"
        A = [D("9999999.94"), D("9999999.95"), D("9999999999.99"), D("-10000000.00"), D("0.05"), None]
        B = [999.994, 999.995, 1e300, float("nan"), float("-inf"), 2.005]
        C = [9999999.0, 1e10, 3.4e38, float("inf"), -0.1, 1.4e-45]
        E_ = ["999.994", "999.995", "1e3", "x", "", "-999.99"]
        rows = lambda ids, ts: [(i, A[i % 6], B[i % 6], C[i % 6], [999, 1000, -1000, 2**62, 0, None][i % 6], E_[i % 6], ts) for i in ids]
        t.write(rows(range(12), 100), "insert", ddl=old, parts=1)
        t.write(rows(range(6), 110), ddl=old, parts=1)
        t.write([(20, 115)], ddl="id int, ts bigint")
        t.write([(21, D("1.5"), D("1.25"), D("0.01"), D(7), D(3), 120)], ddl=new)
        std(t, asof=[3])


for _n, _null in (("not_null", None), ("nullable", 0)):
    @case(f"evo_{_n}_added", "MOR", ("1.2.0:9",), ["schema evolution on write", "added column"],
          "a column that the writer declares without nulls is added to a table that has rows: Apache Hudi cannot read it any more" if _null is None
          else "the rows of evo_not_null_added, with a column that may have nulls")
    def _evo_added(t, impossible=_null):
        from pyspark.sql import functions as F
        _evo(t)
        t.opts |= {"hoodie.datasource.write.reconcile.schema": "true"}
        t.ddl = "id int, v string, ts bigint"
        t.write([(i, f"v{i}", 100) for i in range(6)], "insert")
        t.write([(i, "log", 110) for i in (0, 1)])
        tip = F.lit(1.5) if impossible is None else F.when(F.col("id") != impossible, 1.5)
        t.write(None, df=t.df([(1, "tip", 120), (2, "tip", 120), (9, "tip", 120)]).withColumn("tip", tip))
        std(t, asof=9)


@case("evo_not_null_nested", "MOR", ("1.2.0:9",), ["schema evolution on write", "added field of a struct"],
      "a field that the writer declares without nulls is added to a struct, to one in a list and to one in a map")
def evo_not_null_nested(t):
    from pyspark.sql import types as T
    _evo(t)
    t.opts |= {"hoodie.datasource.write.reconcile.schema": "true"}
    t.new_lists()
    old = "id int, s struct<a:int>, l array<struct<a:int>>, m map<string,struct<a:int>>, ts bigint"
    t.write([(i, (i,), [(i,)], {"k": (i,)}, 100) for i in range(4)], "insert",
            ddl=old)
    t.write([(0, (9,), [(9,)], {"k": (9,)}, 110)], ddl=old)
    pair = T.StructType([T.StructField("a", T.IntegerType()), T.StructField("tip", T.DoubleType(), False)])
    new = T.StructType([T.StructField("id", T.IntegerType()), T.StructField("s", pair), T.StructField("l", T.ArrayType(pair)),
                        T.StructField("m", T.MapType(T.StringType(), pair)), T.StructField("ts", T.LongType())])
    t.write(None, df=t.spark.createDataFrame([(1, (1, 1.5), [(1, 1.5)], {"k": (1, 1.5)}, 120), (9, (9, 1.5), [], {}, 120)], new))
    std(t, asof=9)


# ------------------------------------------------------------------ indexes of the metadata table
IX_DDL = "id string, city string, n int, x double, d date, m decimal(8,2), t timestamp, ts int, region string"
IX_TARGETS = ("1.2.0:9", "1.0.2:8")
RECORD_INDEX = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true",
                "hoodie.metadata.record.index.min.filegroup.count": "2", "hoodie.metadata.record.index.max.filegroup.count": "2"}
STATS = {"hoodie.metadata.index.column.stats.enable": "true", "hoodie.metadata.index.partition.stats.enable": "true",
         "hoodie.metadata.index.column.stats.file.group.count": "2",
         "hoodie.metadata.index.bloom.filter.enable": "true", "hoodie.metadata.index.bloom.filter.file.group.count": "2"}
NO_STATS = {"hoodie.metadata.index.column.stats.enable": "false", "hoodie.metadata.index.partition.stats.enable": "false"}
SMALL = {"hoodie.parquet.small.file.limit": "0"}        # inserts go to new file groups, also in COPY_ON_WRITE
CITIES = ["Oslo", "oslo", "a$b", "back\\slash", "Z\u00fcrich", "", None]


def indexed(i, ts, region=None, **more):
    """A row whose values grow with its number; each region has its own nulls, and one only nulls."""
    region = region or "abcd"[i // 6 % 4]
    row = {"id": f"k{i:03d}", "city": None if region == "c" else CITIES[i % 7], "n": None if i % 5 == 4 else i * 10,
           "x": float("nan") if i % 11 == 10 else i / 4, "d": None if region == "b" else dt.date(2024, 1, 1) + dt.timedelta(i),
           "m": D(i) / 4, "t": dt.datetime(2023, 12, 30) + dt.timedelta(hours=7 * i), "ts": ts, "region": region, **more}
    return tuple(row[name.split()[0]] for name in IX_DDL.split(", "))


def indexed_history(t):
    """Inserts, updates that move values out of old bounds and to null, deletes, a partition that loses all rows."""
    t.write([indexed(i, 100) for i in range(24)])
    t.write([indexed(i, 110, n=i * 10 + 5000, city="Bergen") for i in (1, 8)] + [indexed(40, 110, "a"), indexed(41, 110, "e")])
    t.write([indexed(i, 120, n=None, city=None, d=None) for i in (2, 9, 14)])
    t.write([indexed(i, 130) for i in (3, 12, 41)], "delete")
    t.write([indexed(i, 140, x=-1.5, m=D("-7.25")) for i in (5, 20)] + [indexed(50, 140, "b")])


def index_queries(t):
    std(t, skip=False, asof=9)


@case("ix_recreated", "MOR", ("1.2.0:9",), ["record_index", "dropped and created again", "logs"],
      "the record index is dropped by a compaction without its options, and created again by a later upsert")
def ix_recreated(t):
    t.ddl = "id string, v string, ts int"
    index = {**RECORD_INDEX, "hoodie.metadata.enable": "true"}
    t.opts = {**event_time(t), **index}
    w = lambda ids, v, ts: t.write([(f"k{i}", v, ts) for i in ids], parts=1)
    w(range(8), "c1", 100); w([0, 1], "c2", 110); w([2, 8], "c3", 120)
    t.opts = {**event_time(t), "hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "false",
              "hoodie.metadata.global.record.level.index.enable": "false"}
    compact(t, conf={"hoodie.metadata.enable": "true"})
    w([3], "c4", 130)
    t.opts = {**event_time(t), **index}
    w([4, 9], "c5", 140); w([0], "c6", 150)
    std(t, skip=False, asof=9)


# Decimals that Arrow casts to another double than Java does.
AMOUNTS = """546740.69 319390.72 839827.58 812821.94 257354.58 203504.11 702201.94 793360.44 41623.27 547039.07 311903.85 451998.35
             218908.61 727145.94 767665.82 283367.16 857327.07 648954.45 394454.16 507080.98 42114.52 264925.47 925744.07 185658.08""".split()


@case("ty_conditions", "MOR", ("1.2.0:9",), ["decimals beside floats", "dates and times beside text", "floats beside integers"],
      "values that a condition finds or loses by the type in which it compares")
def ty_conditions(t):
    t.ddl = "id string, name string, amount decimal(10,2), dt date, t timestamp, f float, n bigint, d18 decimal(18,6), q int, ts bigint"
    t.opts = {**event_time(t), **NO_MDT}
    days = [dt.date(2024, 1, 5), dt.date(2024, 1, 4), dt.date(1582, 10, 15), None]
    times = [dt.datetime(2024, 1, 5, 10), dt.datetime(2024, 1, 5, 10, 0, 0, 1), dt.datetime(2024, 1, 5), None]
    rows = lambda ids, ts: [
        (f"k{i:02d}", f"{'Nn'[i % 2]}{i % 12 // 2}", D(AMOUNTS[i % len(AMOUNTS)]), days[i % 4], times[i // 4 % 4],
         [16777216.0, 16777218.0, 5.0, None, 0.1][i % 5], [10, -2**63, 2**63 - 1, None, 16777217, 2**53 + 1, 5][i % 7],
         [D(1), D("1.000001"), D("123456789012.345678"), None][i // 2 % 4], i % 10, ts + i) for i in ids]
    t.write(rows(range(96), 0), "insert", parts=1)
    t.write(rows(range(90, 99), 0), parts=1)
    t.snap()


@case("ix_stats_base", "COW", IX_TARGETS, ["column_stats", "partition_stats", "bloom_filters", "record_index", "nulls"],
      "statistics of files and partitions, Bloom filters and record index over updates, deletes, nulls and NaN; several file groups per partition")
def ix_stats_base(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **SMALL, **STATS, **RECORD_INDEX}
    indexed_history(t)
    index_queries(t)


@case("ix_stats", "MOR", ("1.2.0:9",), ["column_stats", "partition_stats", "bloom_filters", "record_index", "nulls", "logs"],
      "as ix_stats_base, with log files; a compaction, then more of them")
def ix_stats(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **STATS, **RECORD_INDEX}
    indexed_history(t)
    compact(t, conf={"hoodie.metadata.enable": "true"})
    t.write([indexed(i, 150, n=-i, city="Bodo") for i in (6, 21)] + [indexed(60, 150, "d")])
    index_queries(t)


@case("ix_dynamic_bloom", "COW", ("1.2.0:9",), ["bloom_filters", "dynamic Bloom filters"],
      "Bloom filters that grow with the number of keys, in footers and in the metadata table")
def ix_dynamic_bloom(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **SMALL, **STATS, **NO_STATS, "hoodie.bloom.index.filter.type": "DYNAMIC_V0",
              "hoodie.bloom.index.filter.dynamic.max.entries": "100", "hoodie.index.bloom.num_entries": "10"}
    t.write([indexed(i, 100) for i in range(120)])
    t.write([indexed(i, 110) for i in range(0, 130, 10)])
    t.write([indexed(i, 120) for i in (1, 25)], "delete")
    index_queries(t)


@case("ix_added_column", "COW", ("1.2.0:9",), ["column_stats", "partition_stats", "schema evolution"],
      "a column that older files of the same partition lack: their rows are null there, which no statistics say")
def ix_added_column(t):
    t.ddl, t.part = "id string, v int, ts int, region string", "region"
    t.opts = {**event_time(t), **SMALL, **STATS}
    t.write([(f"k{i}", i, 100, "ab"[i % 2]) for i in range(8)])
    t.ddl = "id string, v int, ts int, region string, more int"
    t.write([(f"k{i}", i, 110, "ab"[i % 2], i * 100) for i in (10, 11, 12)])
    t.write([("k1", -1, 120, "b", None), ("k20", 20, 120, "c", None)])
    index_queries(t)


def create_index(t, text):
    t.sql(text, LOCK)


@case("ix_secondary_base", "COW", ("1.2.0:9",), ["secondary_index", "record_index", "nulls"],
      "secondary indexes on a string and an int column with nulls and characters that are escaped; updates, deletes")
def ix_secondary_base(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **SMALL, **RECORD_INDEX, **NO_STATS}
    t.write([indexed(i, 90) for i in range(24)])
    create_index(t, "CREATE INDEX city_idx ON {t} (city)")
    create_index(t, "CREATE INDEX n_idx ON {t} (n)")
    indexed_history(t)
    index_queries(t)


@case("ix_secondary", "MOR", IX_TARGETS, ["secondary_index", "record_index", "nulls", "logs"],
      "as ix_secondary_base, with log files; a compaction, then more of them")
def ix_secondary(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **RECORD_INDEX, **NO_STATS}
    t.write([indexed(i, 90) for i in range(24)])
    create_index(t, "CREATE INDEX city_idx ON {t} (city)")
    indexed_history(t)
    compact(t, conf={"hoodie.metadata.enable": "true"})
    t.write([indexed(i, 150, n=-i, city="Bodo") for i in (6, 21)] + [indexed(60, 150, "d")])
    t.write([indexed(i, 10, city="late") for i in (0, 7)])      # lose by their ordering value
    index_queries(t)


@case("ix_expression", "COW", ("1.2.0:9",), ["expr_index", "column_stats of an expression", "bloom_filters of an expression"],
      "expression indexes: the day and the year of a timestamp, the lower-case form of the key")
def ix_expression(t):
    t.ddl, t.part = IX_DDL, "region"
    t.opts = {**event_time(t), **SMALL, **RECORD_INDEX, **NO_STATS}
    indexed_history(t)      # first: 1.2.0 cannot update such an index (NullPointerException)
    create_index(t, "CREATE INDEX day_idx ON {t} USING column_stats(t) OPTIONS(expr='date_format', format='yyyy-MM-dd')")
    create_index(t, "CREATE INDEX year_idx ON {t} USING column_stats(t) OPTIONS(expr='year')")
    create_index(t, "CREATE INDEX lower_idx ON {t} USING bloom_filters(id) OPTIONS(expr='lower')")
    index_queries(t)


# ------------------------------------------------------------------ the command line
def shrink(root):
    """Writes the expected files again without Spark's footer, statistics and white space; same rows and schema."""
    import glob
    import json

    import pyarrow.parquet as pq
    for f in glob.glob(os.path.join(root, "*", "expected", "*.parquet")):
        old = pq.read_table(f).replace_schema_metadata(None)
        pq.write_table(old, f + "_", compression="zstd", compression_level=19, write_statistics=False, store_schema=False,
                       use_dictionary=old.num_rows > 50)
        new = pq.read_table(f + "_").replace_schema_metadata(None)
        assert new.schema.equals(old.schema) and repr(new.to_pylist()) == repr(old.to_pylist()), f
        if os.path.getsize(f + "_") < os.path.getsize(f):
            os.replace(f + "_", f)
        else:
            os.remove(f + "_")
    for f in glob.glob(os.path.join(root, "*", "expected", "*.schema.json")):
        text = json.dumps(json.load(open(f)), separators=(",", ":"))
        with open(f, "w") as h:
            h.write(text + "\n")


def prefix(version, tv):
    return f"x_v{tv}_" if H.TABLE_VERSION[version] == tv else f"x_v{tv}w{version.replace('.', '')}_"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--version")
    ap.add_argument("--case")
    ap.add_argument("--out", required=True)
    ap.add_argument("--table-version", type=int)
    ap.add_argument("--missing", action="store_true", help="only cases that have no directory yet")
    ap.add_argument("--shrink", action="store_true", help="only make the expected files under --out smaller")
    a = ap.parse_args()
    if a.shrink:
        return shrink(a.out)
    names = list(TARGETS) if a.case == "all" else a.case.split(",")
    conf = {"spark.driver.memory": os.environ.get("HUDI_FIXTURE_MEMORY", "1800m")}
    if a.version.startswith("0.12"):        # it has no registrator, and does not pass on an option that Spark 3.3.4 reads
        conf["spark.kryo.registrator"] = ""
        conf["spark.hadoop.spark.sql.legacy.parquet.nanosAsLong"] = "false"
    spark = H.session(a.version, conf)
    try:
        for n in sorted(names, key=lambda x: (x.startswith("mi_"), x.startswith("sor_"))):   # the ones that may harm the JVM last
            for tgt in TARGETS[n]:
                v, tv = tgt.split(":")
                if v != a.version or a.table_version not in (None, int(tv)):
                    continue
                pre = prefix(v, int(tv)) + H.CASES[n]["ttype"].lower() + "_"
                if a.missing and os.path.exists(os.path.join(a.out, pre + n)):
                    continue
                H.run(spark, v, [n], a.out, int(tv), pre)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
