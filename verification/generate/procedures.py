"""Ask Apache Hudi's procedures (CALL show_...) and table functions about golden tables.

    pip install 'pyspark==3.5.*' pyarrow      # Java 17; the bundle of Apache Hudi 1.2.0 from Maven Central
    HUDI_JAR=path/to/hudi-spark3.5-bundle_2.12-1.2.0.jar \
        python -m verification.generate.procedures [--functions] [CASE ...]

Writes procedures.json into answers.zip of each case: a list of calls with their arguments, the columns
of the answer and its rows, or the error on which the procedure fails. The table's base path is
replaced by <table> in all texts. With --functions only the answers of table functions are made anew.
"""
import datetime as dt
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile

os.environ["TZ"] = "UTC"
time.tzset()

from pathlib import Path

from tests.golden.archive import members
from tests.golden.case import read_facts, write_case

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "tests")
TABLES = os.path.join(TESTS, "golden")
KIND, FILE = "procedures", "procedures.json"
JAR = os.environ.get("HUDI_JAR") or os.path.expanduser(
    "~/.m2/repository/org/apache/hudi/hudi-spark3.5-bundle_2.12/1.2.0/"
    "hudi-spark3.5-bundle_2.12-1.2.0.jar")
CASES = [
    "v6_cow_archived", "v6_cow_clustering_pending", "v6_mor_clean_only", "v6_mor_compaction_inline",
    "v6_mor_compaction_pending", "v6_mor_corrupt_log_block", "v6_mor_failed_rolled_back",
    "v6_mor_mdt_indexes", "v6_mor_replace", "v8_mor_partial_merge_into", "v8_mor_savepoint_restore",
    "v9_cow_cdc_data_before", "v9_mor_archived", "v9_mor_clustering", "v9_mor_compaction_inline",
    "v9_mor_corrupt_log_block", "v9_mor_delete_marker", "v9_mor_logblock_parquet",
    "v9_mor_mdt_indexes", "v9_mor_schema_evolution",
]
ALL = 100000
LOG_FILES = 4  # of each table, spread over all


def session(scratch):
    from pyspark.sql import SparkSession
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    s = (SparkSession.builder.master("local[2]").appName("procedures")
         .config("spark.jars", JAR)
         .config("spark.driver.memory", "2g")
         .config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false")
         .config("spark.sql.shuffle.partitions", "2")
         .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
         .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
         .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
         .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
         .config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.warehouse.dir", os.path.join(scratch, "warehouse"))
         .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC -Dderby.system.home=" + scratch)
         .getOrCreate())
    s.sparkContext.setLogLevel("OFF")
    return s


def unzip(case, scratch):
    """Hudi 1.x takes completion times of layout 1 from file modification times, which zips round."""
    with zipfile.ZipFile(os.path.join(TABLES, case, "table.zip")) as z:
        z.extractall(scratch)
    base = os.path.join(scratch, case)
    folder = os.path.join(base, ".hoodie")
    names = [n for n in os.listdir(folder) if re.match(r"^\d{17}\.[a-z.]+$", n)]
    for n in names:
        t = dt.datetime.strptime(n[:14], "%Y%m%d%H%M%S").replace(tzinfo=dt.timezone.utc).timestamp()
        t += int(n[14:17]) / 1000 + 0.002
        os.utime(os.path.join(folder, n), (t, t))
    return base


def plain(value, base):
    if isinstance(value, str):
        return value.replace("file:" + base, "<table>").replace(base, "<table>")
    if isinstance(value, (list, tuple)):
        return [plain(v, base) for v in value]
    return value


def sql(value):
    return str(value).lower() if isinstance(value, (bool, int)) else "'%s'" % value.replace("'", "\\'")


def cause(e):
    """The innermost Java error, class and first line."""
    java = getattr(e, "java_exception", None) or getattr(e, "_origin", None)
    if java is None:
        return str(e).strip().splitlines()[0]
    while java.getCause() is not None:
        java = java.getCause()
    return re.sub(r"@[0-9a-f]+", "", str(java.toString()).strip().splitlines()[0])


class Calls:
    def __init__(self, spark, case, base):
        self.spark, self.case, self.base, self.made = spark, case, base, []
        spark.sql(f"DROP TABLE IF EXISTS {case}")
        spark.sql(f"CREATE TABLE {case} USING hudi LOCATION '{base}'")

    def ask(self, name, **args):
        given = ", ".join(f"{k} => {sql(v)}" for k, v in args.items())
        text = f"CALL {name}(table => '{self.case}'" + (f", {given}" if given else "") + ")"
        return self.answer(text, name, args)

    def ask_function(self, name, **args):
        given = "".join(f", {sql(v)}" for v in args.values())
        return self.answer(f"SELECT * FROM {name}('{self.case}'{given})", name, args)

    def answer(self, text, name, args):
        call = {"procedure": name, "args": {k: plain(v, self.base) for k, v in args.items()}}
        try:
            df = self.spark.sql(text)
            rows = df.collect()
            call["columns"] = df.columns
            call["rows"] = [[plain(v, self.base) for v in r] for r in rows]
        except Exception as e:  # the answer is then: Hudi fails
            call["error"] = plain(cause(e), self.base)[:300]
            rows = []
        self.made.append(call)
        return rows


def ask_all(calls, base):
    timeline = calls.ask("show_timeline", limit=ALL, showArchived=True)
    commits = calls.ask("show_commits", limit=ALL)
    calls.ask("show_archived_commits", limit=ALL, start_ts="20000101000000", end_ts="20991231000000")
    calls.ask("show_commits_metadata", limit=ALL)
    calls.ask("show_commit_extra_metadata", limit=ALL, metadata_key="schema")
    for c in sorted({r[0] for r in commits}):
        calls.ask("show_commit_files", limit=ALL, instant_time=c)
        calls.ask("show_commit_partitions", limit=ALL, instant_time=c)
    calls.ask("show_fsview_all", limit=ALL)
    latest = calls.ask("show_fsview_latest", limit=ALL)
    logs = sorted(f for f in glob.glob(base + "/**/.*.log.*", recursive=True)
                  if "/.hoodie/" not in f and not f.endswith((".crc", ".cdc")))
    for f in logs[::max(1, len(logs) // LOG_FILES)][:LOG_FILES]:
        calls.ask("show_logfile_metadata", limit=ALL, log_file_path_pattern=f)
        calls.ask("show_logfile_records", limit=ALL, log_file_path_pattern=f)
    for folder in sorted({os.path.dirname(f) for f in logs})[:2]:
        of = sorted({os.path.basename(f).split("_")[0] for f in logs if os.path.dirname(f) == folder})
        calls.ask("show_logfile_records", limit=ALL, merge=True,
                  log_file_path_pattern=os.path.join(folder, of[0] + "_*"))
    for p in [r[0] for r in calls.ask("show_metadata_table_partitions")]:
        calls.ask("show_metadata_table_files", limit=ALL, partition=p)
    names = ",".join(f.name for f in calls.spark.table(calls.case).schema.fields)
    calls.ask("show_metadata_table_column_stats", targetColumns=names)
    calls.ask("show_compaction", limit=ALL)
    for archived in (False, True):
        calls.ask("show_cleans", limit=ALL, showArchived=archived)
        calls.ask("show_cleans_metadata", limit=ALL, showArchived=archived)
    for r in calls.ask("show_rollbacks", limit=ALL):
        calls.ask("show_rollback_detail", limit=ALL, instant_time=r[0])
    calls.ask("show_savepoints")
    calls.ask("show_clustering", limit=ALL, show_involved_partition=True)
    calls.ask("show_table_properties", limit=ALL)
    calls.ask("stats_wa", limit=ALL)
    calls.ask("stats_file_sizes", limit=ALL)


def ask_functions(calls):
    for archived in ("false", "true"):
        calls.ask_function("hudi_query_timeline", archived=archived)
    calls.ask_function("hudi_filesystem_view")
    for folders in ("*", "e*", "*/*", "{amer,emea}", "[!a]???"):
        calls.ask_function("hudi_filesystem_view", folders=folders)


def main():
    scratch = tempfile.mkdtemp(prefix="procedures")
    spark = session(scratch)
    names = [name for name in sys.argv[1:] if name != "--functions"]
    for case in names or CASES:
        base = unzip(case, scratch)
        calls = Calls(spark, case, base)
        folder = Path(TABLES, case)
        answers = dict(members(folder / "answers.zip"))
        if "--functions" in sys.argv:
            known = json.loads(answers[FILE])
            calls.made = [c for c in known if not c["procedure"].startswith("hudi_")]
        else:
            ask_all(calls, base)
        ask_functions(calls)
        text = "[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in calls.made) + "\n]\n"
        write_case(folder, {**read_facts(folder), KIND: FILE}, {**answers, FILE: text.encode()})
        print(case, len(calls.made), sum("error" in c for c in calls.made), flush=True)
    spark.stop()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
