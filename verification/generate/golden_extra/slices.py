"""File slices and table services."""
import datetime as dt
import os
import threading

from verification.generate.golden_extra.library import (
    BUCKET, HIVE, KG, LOCK, NO_MDT, P, PAYLOAD, case, commit_time, compact, event_time, std,
)


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
