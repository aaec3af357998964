"""Tables of Apache Hudi 1.2.0 whose indexes a caller may trust.

`verification/generate/trusted_indexes.py` wrote them. Rows are those that Apache Hudi reads without
indexes. It recorded what it loses with its defaults as well: here nothing is lost without trust,
and no more than there with it.
"""

from pathlib import Path
from typing import Any

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.tasks import ScanTask
from tests.golden.case import load_case
from tests.planning.indexed import pruned

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
        assert "as trust_indexes says" not in pruned(scan)


@CASES
def test_trusted_indexes_lose_no_more_than_apache_hudi(table, name):
    lost = recorded(name, "lost")
    for text, wanted in questions(name):
        scan = table.scan(filter=text, trust_indexes=True, unique_keys=False)
        found = identities(scan.to_arrow().to_pylist())
        assert set(found) <= set(identities(wanted))
        missing = {key for key, *_ in set(identities(wanted)) - set(found)}
        assert missing <= set(lost.get(text, ())), text


@pytest.mark.parametrize("name", ["secondary_mor"])
def test_secondary_index_leaves_the_files_of_a_value(table, name):
    lost = recorded(name, "lost")
    # The index of n was created again, and lacks that a later commit changed 77 to 3.
    assert lost["n = 3"] == ["k05"]
    stale = {"n = 77": [row for row in recorded(name, "rows") if row["id"] == "k05"]}
    for text, wanted in questions(name):
        scan = table.scan(filter=text, trust_indexes="secondary")
        left = [row for row in wanted if row["id"] not in lost.get(text, ())]
        assert groups(scan) == groups_of(left + stale.get(text, [])), text
        index = f"secondary_index_{text.partition(' ')[0]}_idx"
        assert f"file slices by {index}, as trust_indexes says" in pruned(scan)


@pytest.mark.parametrize("name", ["secondary_repeated_keys"])
def test_trust_costs_the_rows_that_an_index_lacks(table, name):
    """Rows were deleted in one partition: the indexes lack their keys, which another one has."""
    lost = recorded(name, "lost")
    assert lost["id = 'k03'"] == ["k03"]
    assert table.scan(filter="id = 'k03'").to_arrow()["id"].to_pylist() == ["k03"]
    assert table.scan(filter="id = 'k03'", unique_keys=True).to_arrow().num_rows == 1
    assert table.scan(filter="id = 'k03'", trust_indexes="record").to_arrow().num_rows == 0
    # The few keys of this secondary index do not show that none of its file groups is lost.
    assert lost["city = 'Bergen'"] == ["k03", "k05"]
    scan = table.scan(filter="city = 'Bergen'", trust_indexes="secondary")
    assert "secondary_index" not in pruned(scan)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == ["k03", "k05"]


@pytest.mark.parametrize("name", ["expression_cow", "expression_mor"])
def test_expression_indexes_leave_the_files_of_an_expression(table, name):
    """Each base file has the days of one year; a slice with a log file is kept."""
    rows = recorded(name, "rows")
    options: dict[str, Any] = {"trust_indexes": "expression", "data_skipping": "expr_index"}
    tasks = [task for task in table.scan().plan() if isinstance(task, ScanTask)]
    logged = {task.file_slice.file_id for task in tasks if task.file_slice.log_files}
    assert len(logged) == (name == "expression_mor")
    by_name = [f"expr_index_{each}_idx" for each in ("name", "part")]
    asked = [each for each in by_name if each in table.config.metadata_partitions]
    for row in rows:
        scan = table.scan(filter=f"d = DATE '{row['d']}'", **options)
        assert "by expr_index_year_idx, as trust_indexes says" in pruned(scan)
        assert groups(scan) == groups_of([row]) | logged
        scan = table.scan(filter=f"name = '{row['name']}'", **options)
        assert f"by {' and '.join(asked)}, as trust_indexes says" in pruned(scan)
        assert groups(scan) == groups_of([r for r in rows if r["name"] == row["name"]]) | logged
    # Nor is a slice with a log file left out by values that none of its files has.
    for text in ("d = DATE '1999-12-31'", "d = DATE '2040-01-01'", "name = 'Name ~'"):
        assert groups(table.scan(filter=text, **options)) == logged, text
    scan = table.scan(filter=f"seconds = {rows[0]['seconds']}", **options)
    assert "expr_index" not in pruned(scan)  # of a time in the zone of the writer


@pytest.mark.parametrize("name", ["partition_stats"])
def test_partition_statistics_leave_the_partitions_of_a_value(table):
    """Numbers that were written: a has 0 to 999, b 100 to 777, c 200 to 205, d 12 and 13.

    A file of c has only nulls, for which Apache Hudi notes 0. The partition d was dropped before,
    when it had numbers from 300 on.
    """
    options: dict[str, Any] = {
        "trust_indexes": "partition_stats",
        "data_skipping": "partition_stats",
    }
    for number, regions in ((12, "acd"), (202, "abc"), (303, "ab"), (5000, "")):
        scan = table.scan(filter=f"n = {number}", **options)
        paths = {t.file_slice.partition_path for t in scan.plan() if isinstance(t, ScanTask)}
        assert paths == {f"region={region}" for region in regions}
        assert "by partition statistics, as trust_indexes says" in pruned(scan)
    assert " 0 of " in f" {pruned(table.scan(filter='n IS NULL', **options))}"
