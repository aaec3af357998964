"""Event time and commit time: orders, types of ordering fields, keys that come twice."""
import datetime as dt

from verification.generate.golden_extra.library import BUCKET, D, NO_MDT, case, commit_time, compact, event_time, std


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
