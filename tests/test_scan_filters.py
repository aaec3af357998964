import pickle
from collections import Counter

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError
from hudi_pyspark.storage import ArrowStorage
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.golden.compare import differences
from tests.golden.filters import filtered_differences, filters_of

MOR = "v9_mor_compaction_inline"


@pytest.fixture
def table(golden_table):
    return HudiTable(str(golden_table(MOR)))


@pytest.fixture(scope="module")
def expected():
    query = next(q for q in load_case(GOLDEN / MOR).queries if q.name == "snapshot")
    return query.expected_rows()


def place_in_table(storage, path):
    """The path relative to the table; that of the metadata table is inside of it."""
    inside = storage.base_path.endswith("/.hoodie/metadata")
    return f".hoodie/metadata/{path}" if inside else path


@pytest.fixture
def touched(monkeypatch):
    """How often each path was read, opened or listed."""
    counts: Counter[str] = Counter()
    for name in ("open_input", "list_directory", "list_file_names"):  # reading a file opens it
        method = getattr(ArrowStorage, name)

        def counting(self, path, _method=method):
            counts[place_in_table(self, path)] += 1
            return _method(self, path)

        monkeypatch.setattr(ArrowStorage, name, counting)
    return counts


def data_files(touched):
    return {p for p in touched if "." in p.rpartition("/")[2] and not p.startswith(".hoodie/")}


def test_partitions_that_cannot_match_are_not_read(table, expected, touched):
    field = table.config.partition_fields[0]
    values = sorted(set(expected.column(field).to_pylist()))
    assert len(values) > 1
    scan = table.scan(filter=f"{field} = '{values[0]}'")
    peeked = data_files(touched)
    answer = scan.to_arrow()
    assert answer.num_rows == expected.column(field).to_pylist().count(values[0]) > 0
    # One file of any partition is looked into for the columns of the table.
    assert {p.partition("/")[0] for p in data_files(touched) - peeked} == {values[0]}


def test_filter_may_name_columns_that_are_not_read(table, expected):
    key = expected.column("_hoodie_record_key")[0].as_py()
    answer = table.scan(columns=["_hoodie_commit_time"], filter=f"_hoodie_record_key = '{key}'")
    assert answer.schema.names == ["_hoodie_commit_time"]
    assert answer.count() == 1


def test_record_key_is_found_in_base_and_log_files(table, expected):
    for row in expected.to_pylist():
        key = row["_hoodie_record_key"]
        found = table.scan(filter=f"_hoodie_record_key = '{key}'").to_arrow()
        assert found.to_pylist() == [row]


@pytest.mark.parametrize("case", ["v6_mor_insert_duplicates", "v9_mor_insert_duplicates"])
def test_filter_finds_the_rows_of_a_key_that_a_base_file_has_twice(golden_table, case):
    """Which of the two a log record replaces, positions decide, or else their order in the file."""
    path = golden_table(case)
    query = next(q for q in load_case(GOLDEN / path.name).queries if q.name == "snapshot")
    keys = query.expected_rows().column("_hoodie_record_key").to_pylist()
    assert len(set(keys)) < len(keys)
    filters = filters_of(query.expected_rows(), per_column=8)
    assert filtered_differences(query, path, filters) == {}


def test_columns_are_named_in_any_case_and_unknown_ones_are_refused(table):
    assert table.scan(filter="_HOODIE_COMMIT_TIME > '0'").count() > 0
    with pytest.raises(InvalidOptionError, match="no column 'nope'; it has _hoodie_commit_time"):
        table.scan(filter="nope = 1")


def test_filter_of_changes_sees_operations(golden_table):
    table = HudiTable(str(golden_table("v6_cow_cdc_op_key_only")))
    ops = Counter(table.changes().to_arrow().column("op").to_pylist())
    for op, count in ops.items():
        found = table.scan(begin="earliest", cdc=True, filter=f"op = '{op}'").to_arrow()
        assert found.column("op").to_pylist() == [op] * count


def test_schema_and_plan_of_a_query_read_no_metadata_twice(golden_table, touched):
    datasource = pytest.importorskip("hudi_pyspark.spark.datasource")
    source = datasource.HudiDataSource({"path": str(golden_table(MOR))})
    schema = source.schema()
    # Spark plans in another process than the one that it asks for the schema.
    reader = pickle.loads(pickle.dumps(source)).reader(schema)
    assert reader.partitions()
    assert touched
    # But for one look at whether the table has grown in between.
    again = {path: n for path, n in touched.items() if n > 1}
    assert again == {HudiTable(source.options["path"]).config.timeline_folder: 2}


def test_filter_that_is_always_true_leaves_everything(golden_table, expected):
    text = "_hoodie_commit_time IS NOT NULL"
    query = next(q for q in load_case(GOLDEN / MOR).queries if q.name == "snapshot")
    answer = HudiTable(str(golden_table(MOR))).scan(filter=text).to_arrow()
    assert differences(answer, expected, query.expected_schema()) == []
