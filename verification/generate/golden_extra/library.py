"""What all cases use: their table, its queries, ordering, compactions."""
import decimal
import os
import sys

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


# merge modes and queries
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
