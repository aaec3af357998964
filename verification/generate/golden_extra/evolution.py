"""Schema evolution on write and on read."""

from verification.generate.golden_extra.library import D, H, NO_MDT, case, compact, event_time, std
from verification.generate.golden_extra.payloads import _create


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
