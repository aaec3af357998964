"""Ask Apache Hudi's procedures (CALL show_...) and table functions about golden tables.

    python -m verification.generate.procedures [--functions] [CASE ...]

It runs beside PySpark 3.5, as `verification.generate.golden` does. It writes procedures.json into
answers.zip of each case: a list of calls with their arguments, the columns of the answer and its
rows, or the error on which the procedure fails. The table's base path is replaced by <table> in all
texts. With --functions only the answers of table functions are made anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.golden.archive import members
from tests.golden.case import REFERENCE, read_facts, write_case
from verification.common.data import load_data
from verification.generate.golden import unpacked
from verification.histories.instants import data_logs
from verification.histories.session import scratch_session
from verification.histories.worker import cause_of
from verification.random_plans.conditions import literal

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
KIND = "procedures"
FILE = "procedures.json"
CASES: list[str] = load_data(__file__, "procedures.toml")["cases"]
ALL = 100_000
LOG_FILES = 4  # of each table, spread over all
_FOLDERS = 2  # with log files, of each table


def plain(value: Any, base: Path) -> Any:
    """Return a value without the table's base path."""
    if isinstance(value, str):
        return value.replace(f"file:{base}", "<table>").replace(str(base), "<table>")
    if isinstance(value, (list, tuple)):
        return [plain(item, base) for item in value]
    return value


@dataclass
class Calls:
    """What is asked about one table, and what Apache Hudi answers."""

    spark: SparkSession
    case: str
    base: Path
    made: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.case}")
        self.spark.sql(f"CREATE TABLE {self.case} USING hudi LOCATION '{self.base}'")

    def ask(self, name: str, **arguments: object) -> list[Any]:
        """Call a procedure with the table and other arguments."""
        given = {"table": self.case, **arguments}
        text = ", ".join(f"{key} => {literal(value)}" for key, value in given.items())
        return self._answer(f"CALL {name}({text})", name, arguments)

    def ask_all(self, name: str, **arguments: object) -> list[Any]:
        """Call a procedure without a limit of rows."""
        return self.ask(name, limit=ALL, **arguments)

    def ask_function(self, name: str, **arguments: object) -> list[Any]:
        """Select from a table function."""
        given = ", ".join(map(literal, (self.case, *arguments.values())))
        return self._answer(f"SELECT * FROM {name}({given})", name, arguments)

    def _answer(self, text: str, name: str, arguments: Mapping[str, object]) -> list[Any]:
        told = {key: plain(value, self.base) for key, value in arguments.items()}
        call: dict[str, Any] = {"procedure": name, "args": told}
        rows: list[Any] = []
        try:
            frame = self.spark.sql(text)
            rows = frame.collect()
            call["columns"] = frame.columns
            call["rows"] = [plain(tuple(row), self.base) for row in rows]
        except Exception as error:  # noqa: BLE001  (the answer is then that Apache Hudi fails)
            told_by_java = (cause_of(error) or str(error)).strip().splitlines()[0]
            call["error"] = plain(re.sub(r"@[0-9a-f]+", "", told_by_java), self.base)[:300]
        self.made.append(call)
        return rows


def ask_procedures(calls: Calls) -> None:
    """Call each procedure that shows something, with arguments that the table gives."""
    calls.ask_all("show_timeline", showArchived=True)
    commits = calls.ask_all("show_commits")
    calls.ask_all("show_archived_commits", start_ts="20000101000000", end_ts="20991231000000")
    calls.ask_all("show_commits_metadata")
    calls.ask_all("show_commit_extra_metadata", metadata_key="schema")
    for instant in sorted({row[0] for row in commits}):
        calls.ask_all("show_commit_files", instant_time=instant)
        calls.ask_all("show_commit_partitions", instant_time=instant)
    calls.ask_all("show_fsview_all")
    calls.ask_all("show_fsview_latest")
    _ask_about_logs(calls)
    for row in calls.ask("show_metadata_table_partitions"):
        calls.ask_all("show_metadata_table_files", partition=row[0])
    names = ",".join(found.name for found in calls.spark.table(calls.case).schema.fields)
    calls.ask("show_metadata_table_column_stats", targetColumns=names)
    calls.ask_all("show_compaction")
    for archived in (False, True):
        calls.ask_all("show_cleans", showArchived=archived)
        calls.ask_all("show_cleans_metadata", showArchived=archived)
    for row in calls.ask_all("show_rollbacks"):
        calls.ask_all("show_rollback_detail", instant_time=row[0])
    calls.ask("show_savepoints")
    calls.ask_all("show_clustering", show_involved_partition=True)
    calls.ask_all("show_table_properties")
    calls.ask_all("stats_wa")
    calls.ask_all("stats_file_sizes")


def _ask_about_logs(calls: Calls) -> None:
    logs = sorted(calls.base / path for path in data_logs(calls.base))
    for log in logs[:: max(1, len(logs) // LOG_FILES)][:LOG_FILES]:
        calls.ask_all("show_logfile_metadata", log_file_path_pattern=str(log))
        calls.ask_all("show_logfile_records", log_file_path_pattern=str(log))
    for folder in sorted({log.parent for log in logs})[:_FOLDERS]:
        first = min(log.name.partition("_")[0] for log in logs if log.parent == folder)
        pattern = str(folder / f"{first}_*")
        calls.ask_all("show_logfile_records", merge=True, log_file_path_pattern=pattern)


def ask_functions(calls: Calls) -> None:
    """Select from each table function."""
    for archived in ("false", "true"):
        calls.ask_function("hudi_query_timeline", archived=archived)
    calls.ask_function("hudi_filesystem_view")
    for folders in ("*", "e*", "*/*", "{amer,emea}", "[!a]???"):
        calls.ask_function("hudi_filesystem_view", folders=folders)


def main(arguments: list[str]) -> None:
    """Ask about the cases that are named, or all."""
    names = [name for name in arguments if name != "--functions"]
    with scratch_session(REFERENCE) as (spark, scratch):
        for case in names or CASES:
            folder = GOLDEN / case
            calls = Calls(spark, case, unpacked(folder, scratch))
            answers = dict(members(folder / "answers.zip"))
            if "--functions" in arguments:
                known = json.loads(answers[FILE])
                calls.made = [c for c in known if not c["procedure"].startswith("hudi_")]
            else:
                ask_procedures(calls)
            ask_functions(calls)
            lines = (json.dumps(call, ensure_ascii=False) for call in calls.made)
            text = "[\n" + ",\n".join(lines) + "\n]\n"
            facts = {**read_facts(folder), KIND: FILE}
            write_case(folder, facts, {**answers, FILE: text.encode()})
            failed = sum("error" in call for call in calls.made)
            print(case, len(calls.made), "calls", failed, "failed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
