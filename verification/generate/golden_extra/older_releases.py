"""Tables of an older release, and types of a new one."""
import datetime as dt

from verification.generate.golden_extra.library import D, HIVE, KG, NO_MDT, P, PAYLOAD, PKG, case, compact, std
from verification.generate.golden_extra.payloads import _create


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


# types of 1.2.0
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
