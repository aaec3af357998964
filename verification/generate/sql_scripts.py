"""Run the scripts of tests/golden_sql with Apache Hudi's bundle, and keep its answers.

    python -m verification.generate.sql_scripts

It runs beside PySpark 3.5, as `verification.generate.golden` does. It writes the table that the
script quickstart_writes makes into table.zip, the values of the names of scripts into case.toml,
and answers.json into answers.zip: by script the answer to each statement, or null if the statement
has none.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from tests.golden.case import REFERENCE, read_facts, write_case
from tests.golden_sql.script import FOLDER, NAMES, answer, statements
from verification.common.archives import unpack
from verification.histories.instants import completed_commits
from verification.histories.session import scratch_session

GOLDEN = FOLDER.parents[1] / "golden"


def main() -> None:
    """Write the archive, and the values of the names."""
    with scratch_session(REFERENCE) as (spark, scratch):
        path = str(scratch / "tables")
        spark.sql("CREATE DATABASE written")
        spark.sql("USE written")
        for statement in statements("quickstart_writes", {"path": path}):
            spark.sql(statement)
            time.sleep(1.1)  # the commits are in different seconds
        first, second, third, _ = (c.requested for c in completed_commits(Path(path, "trips")))
        day = f"{second[:4]}-{second[4:6]}-{second[6:8]}"
        clock = f"{second[8:10]}:{second[10:12]}:{second[12:14]}.{second[14:]}"
        values = {
            "first": first,
            "second": second,
            "third": third,
            "second_as_time": f"{day} {clock}",
            "day": f"{first[:4]}-{first[4:6]}-{first[6:8]}",
        }
        for case in ("v9_mor_compaction_inline", "v9_cow_cdc_data_before"):
            unpack(GOLDEN / case / "table.zip", Path(path))
        shutil.make_archive(str(FOLDER / "table"), "zip", path, "trips")
        answers = {}
        for name in NAMES:
            spark.sql(f"CREATE DATABASE {name}")
            spark.sql(f"USE {name}")
            given = list(statements(name, {**values, "path": path}))
            answers[name] = [answer(spark, statement, path) for statement in given]
            print(name, len(given), sum(each is not None for each in answers[name]), flush=True)
    text = json.dumps(answers, indent=1)
    write_case(FOLDER, {**read_facts(FOLDER), "values": values}, {"answers.json": text.encode()})


if __name__ == "__main__":
    main()
