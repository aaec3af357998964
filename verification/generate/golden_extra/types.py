"""Types of Avro that Spark has not, Spark's legacy calendar, names in another case, other types."""
import datetime as dt
import json

from verification.generate.golden_extra.evolution import _evo
from verification.generate.golden_extra.library import D, NO_MDT, P, PKG, case, compact, event_time, std


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


# Spark's legacy calendar
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


# names in another case, other types
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
