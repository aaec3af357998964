"""Indexes of the metadata table."""
import datetime as dt

from verification.generate.golden_extra.library import D, LOCK, NO_MDT, case, compact, event_time, std


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
