"""Run the scripts of tests/golden_sql with Apache Hudi's bundle, and keep its answers.

    pip install 'pyspark==3.5.*' pyarrow      # Java 17; the bundle of Apache Hudi 1.2.0 from Maven Central
    HUDI_JAR=path/to/hudi-spark3.5-bundle_2.12-1.2.0.jar python -m verification.generate.sql_scripts

Writes the table that the script quickstart_writes makes into table.zip, the values of the names of
scripts into case.toml, and answers.json into answers.zip: by script the answer to each statement, or
null if the statement has none.
"""
import json
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

os.environ["TZ"] = "UTC"
time.tzset()

from tests.golden.case import read_facts, write_case
from tests.golden_sql.script import FOLDER, NAMES, answer, statements
from verification.generate.session import hudi_session

GOLDEN = FOLDER.parents[1] / "golden"
CATALOG = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
           "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}


def instants(table):
    timeline = table / ".hoodie" / "timeline"
    return sorted(f.name[:17] for f in timeline.glob("*.deltacommit"))


def main():
    folder = Path(tempfile.mkdtemp())
    path = str(folder / "tables")
    spark = hudi_session(os.environ["HUDI_JAR"], CATALOG | {"spark.sql.warehouse.dir": str(folder / "w")})
    spark.sql("CREATE DATABASE written")
    spark.sql("USE written")
    for statement in statements("quickstart_writes", {"path": path}):
        spark.sql(statement)
        time.sleep(1.1)  # the commits are in different seconds
    first, second, third, _ = instants(Path(path, "trips"))
    t = second
    values = {"first": first, "second": second, "third": third,
              "second_as_time": f"{t[:4]}-{t[4:6]}-{t[6:8]} {t[8:10]}:{t[10:12]}:{t[12:14]}.{t[14:]}",
              "day": f"{first[:4]}-{first[4:6]}-{first[6:8]}"}
    for case in ("v9_mor_compaction_inline", "v9_cow_cdc_data_before"):
        zipfile.ZipFile(GOLDEN / case / "table.zip").extractall(path)
    shutil.make_archive(FOLDER / "table", "zip", path, "trips")
    answers = {}
    for name in NAMES:
        spark.sql(f"CREATE DATABASE {name}")
        spark.sql(f"USE {name}")
        given = list(statements(name, {**values, "path": path}))
        answers[name] = [answer(spark, statement, path) for statement in given]
        print(name, len(given), sum(each is not None for each in answers[name]), flush=True)
    text = json.dumps(answers, indent=1)
    write_case(FOLDER, {**read_facts(FOLDER), "values": values}, {"answers.json": text.encode()})
    spark.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
