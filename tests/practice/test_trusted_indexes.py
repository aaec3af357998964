"""Tables of Apache Hudi 1.2.0 whose indexes a caller may trust.

`verification/generate/index_tables.py` wrote them. Rows are those that Apache Hudi reads without
indexes. It recorded what it loses with its defaults as well: here nothing is lost without trust,
and no more than there with it.
"""

from pathlib import Path
from typing import Any

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.tasks import ScanTask
from tests.golden.case import load_case
from tests.metadata_table.indexed import pruned

FOLDER = "trusted_indexes"
# The columns that an index is of, by case; and what is lost.
INDEXED = {
    "secondary_mor": ("city", "n"),
    "secondary_repeated_keys": ("city",),
    "partition_stats": ("city", "n", "d"),
    "expression_cow": ("id", "name", "d"),
    "expression_mor": ("id", "name", "d"),
}
CASES = pytest.mark.parametrize("name", INDEXED)


def recorded(name: str, kind: str) -> Any:
    return load_case(Path(__file__).parent / FOLDER / name).recorded(kind)


def literal(column, value):
    if column == "d":
        return f"DATE '{value}'"
    return str(value) if isinstance(value, int) else "'" + value.replace("\\", "\\\\") + "'"


def questions(name):
    """Filters by each value of the indexed columns, and the rows that pass."""
    rows = recorded(name, "rows")
    for column in INDEXED[name]:
        for value in sorted({row[column] for row in rows if column in row}, key=str):
            wanted = [row for row in rows if row.get(column) == value]
            yield f"{column} = {literal(column, value)}", wanted


def identities(rows):
    return sorted((row["id"], row["region"], row["ts"]) for row in rows)


def groups_of(rows):
    return {row["_hoodie_file_name"].partition("_")[0] for row in rows}


def groups(scan):
    return {task.file_slice.file_id for task in scan.plan() if isinstance(task, ScanTask)}


@pytest.fixture
def table(practice_table, name):
    return HudiTable(str(practice_table(f"{FOLDER}/{name}")))


@CASES
def test_full_read_has_the_rows_of_apache_hudi(table, name):
    rows = recorded(name, "rows")
    names = [each for each in rows[0] if not each.startswith("_")]
    found = table.scan(names).to_arrow().to_pylist()
    assert identities(found) == identities(rows)
    values = {(row["id"], row["region"]): row for row in found}
    for row in rows:
        for column in set(row) & set(names) - {"d"}:
            assert values[row["id"], row["region"]][column] == row[column]


@CASES
def test_nothing_is_lost_without_trust(table, name):
    for text, wanted in questions(name):
        scan = table.scan(filter=text)
        assert identities(scan.to_arrow().to_pylist()) == identities(wanted), text
        assert "trust_indexes" not in pruned(scan)


@CASES
def test_trusted_indexes_lose_no_more_than_apache_hudi(table, name):
    lost = recorded(name, "lost")
    for text, wanted in questions(name):
        scan = table.scan(filter=text, trust_indexes=True, unique_keys=False)
        found = identities(scan.to_arrow().to_pylist())
        assert set(found) <= set(identities(wanted))
        missing = {key for key, *_ in set(identities(wanted)) - set(found)}
        assert missing <= set(lost.get(text, ())), text
