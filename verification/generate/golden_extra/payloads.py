"""Payload classes, and partial updates by MERGE INTO."""
import datetime as dt

from verification.generate.golden_extra.library import D, H, NO_MDT, PAYLOAD, PKG, case, compact, std


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


# MERGE INTO, partial updates
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
