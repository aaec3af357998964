"""What each command prints on golden tables, compared with stored text.

REWRITE_SNAPSHOTS=1 writes the files anew; read the difference before it is committed: the instants,
counts and rows were checked against the tables' case.toml and Apache Hudi's own rows.
"""

import os
import re
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.cli.command import in_process

SNAPSHOTS = Path(__file__).parent / "snapshots"
MOR = "v9_mor_clustering"
CDC = "v9_mor_cdc_data_before_after"
V6 = "v6_mor_part_basic"
WRITERS = {  # the tables of docs/writers.md
    "flink": "flink_v6_mor_compacted",
    "java": "java_v9_mor_compaction",
    "rust": "rust_v9_mor_compaction",
    "streamer": "hudi_trips_logical_types_json_mor_read_v9_parquet_log",
}

COMMANDS = {
    "describe": ["describe", MOR],
    "describe-v6": ["describe", V6],
    "timeline": ["timeline", MOR],
    "timeline-archived": ["timeline", "v9_mor_archived", "--wide"],
    "commits": ["commits", MOR],
    "commits-newest-first": ["commits", V6, "--newest-first"],
    "commits-wide": ["commits", MOR, "--wide"],
    "commit": ["commit", CDC, "20261121063212107"],
    "slices": ["slices", V6],
    "slices-sorted": ["slices", V6, "--sort", "log-ratio", "--limit", "3"],
    "slices-as-of": ["slices", MOR, "--as-of", "20261121062949338"],
    "files": ["files", CDC],
    "history": ["history", CDC, "4facb1b4-c19b-4e8a-a45e-2fe528f24aae-0", "--file-group"],
    "record-history": ["history", V6, "k0001"],
    "lookup-as-of": ["lookup", V6, "k0001", "--as-of", "20261121061710377"],
    "metadata": ["metadata", "v9_mor_mdt_indexes", "--limit", "5"],
    "services": ["services", MOR, "clustering"],
    "services-singular": ["services", CDC, "compaction", "-o", "json"],
    "services-compactions": ["services", CDC, "compactions"],
    "schema": ["schema", MOR],
    "schema-history": ["schema", "v9_mor_schema_evolution", "--history"],
    "partitions": ["partitions", V6],
    "column-statistics": ["column-statistics", MOR, "--limit", "8"],
    "stats": ["stats", CDC],
    "properties": ["properties", MOR],
    "scan-json": ["scan", "v9_mor_all_types", "--output", "json"],
    "scan-csv": ["scan", "v9_mor_all_types", "-o", "csv"],
    "count-json": ["count", MOR, "--query-type", "read_optimized", "-o", "json"],
    "scan": ["scan", CDC, "--columns", "id,name,amount,ts", "--as-of", "20261121063211642"],
    "diff": ["diff", CDC, "20261121063211338", "20261121063212107"],
    "diff-json": ["diff", CDC, "20261121063212498", "20261121063212948", "-o", "json"],
    **{
        f"{command}-{writer}": [command, table]
        for writer, table in WRITERS.items()
        for command in ("describe", "timeline", "commits", "files", "slices", "doctor")
    },
    "doctor": ["doctor", MOR, "--deep"],
    "doctor-torn-block": ["doctor", "v9_mor_corrupt_log_block"],
    "doctor-pending": ["doctor", "v6_mor_compaction_pending"],
}
# Commands whose output is stored for terminals of these widths, too.
TERMINALS = (80, 120)
ON_TERMINALS = (
    *("commits", "commits-wide", "commit", "timeline", "slices", "files", "history"),
    *("describe", "column-statistics", "partitions", "schema-history"),
)
# File slices are read by several threads: their rows come in any order.
UNORDERED = {"scan", "scan-json", "scan-csv"}


@pytest.fixture(scope="module")
def tables(golden_table, tmp_path_factory):
    """A folder with the tables, so that commands name them without the path of this machine."""
    folder = tmp_path_factory.mktemp("tables")
    for name in sorted({command[1] for command in COMMANDS.values()}):
        (folder / name).symlink_to(golden_table(name))
    return folder


def compare(name: str, text: str) -> None:
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def two_days_later(monkeypatch):
    """The present time, since commits have an age."""
    now = datetime(2026, 11, 23, 8, tzinfo=timezone.utc)
    monkeypatch.setattr("hudi_pyspark.cli.look.local_now", lambda: now)


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_stored(name, tables, monkeypatch):
    monkeypatch.chdir(tables)
    ended = in_process(*COMMANDS[name])
    lines = ended.out.splitlines()
    if name in UNORDERED:
        lines[1:] = sorted(line.rstrip(",") for line in lines[1:])
    shown = "\n".join([f"$ hudi-py {' '.join(COMMANDS[name])}", *lines, ""])
    assert (ended.code, ended.err) == (0, "")
    compare(name, shown.replace(f"{tables}/", ""))


@pytest.mark.parametrize("width", TERMINALS)
@pytest.mark.parametrize("name", ON_TERMINALS)
def test_output_on_a_terminal_is_as_stored(name, width, tables, monkeypatch):
    monkeypatch.chdir(tables)
    ended = in_process(*COMMANDS[name], columns=width)
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", ended.out).splitlines()]
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, lines)) <= width
    shown = [f"$ COLUMNS={width} hudi-py {' '.join(COMMANDS[name])}", *lines, ""]
    compare(f"{name}-{width}", "\n".join(shown).replace(f"{tables}/", ""))


def test_every_stored_output_belongs_to_a_command():
    on_terminals = {f"{name}-{width}" for name in ON_TERMINALS for width in TERMINALS}
    assert {file.stem for file in SNAPSHOTS.glob("*.txt")} == {*COMMANDS, *on_terminals}


def test_nothing_stored_has_colours_or_paths_of_a_machine():
    for file in SNAPSHOTS.glob("*.txt"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\x1b|/tmp/|/home/|/root/", text), file.name
