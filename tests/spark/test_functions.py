"""Table-valued functions in SQL, compared with Apache Hudi's procedures and queries."""

import math
import re
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import functions as sf
from pyspark.sql.functions import udtf

import hudi_pyspark
from hudi_pyspark.spark import functions
from tests.conftest import PROJECT
from tests.golden.test_procedures import answer, picked, relative
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

CHANGES = "v9_mor_compaction_inline"


@pytest.fixture(scope="module")
def session(spark):
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    hudi_pyspark.register_functions(own)
    return own


def rows(frame):
    return [row.asDict() for row in frame.collect()]


@pytest.mark.parametrize("case", ["v9_mor_mdt_indexes", "v6_cow_archived", "v9_mor_clustering"])
def test_timeline_and_commits_have_the_numbers_of_apache_hudi(session, golden_table, case):
    path = golden_table(case)
    active = session.sql(f"SELECT * FROM hudi_inspect('{path}', 'timeline', 'archived=false')")
    known = [row for row in answer(case, "show_timeline") if row["timeline_type"] == "ACTIVE"]
    found = rows(active.withColumn("state", sf.upper("state")))
    assert picked(found, ["requested_time", "state"]) == picked(known, ["instant_time", "state"])
    commits = {
        "commit_time": "requested_time", "action": "action",
        "total_bytes_written": "written_bytes", "total_files_updated": "updated_files",
        "total_partitions_written": "partitions",
        "total_records_written": "records", "total_update_records_written": "updates",
        "total_errors": "errors",
    }  # fmt: skip
    query = f"SELECT *, files - new_files AS updated_files FROM hudi_inspect('{path}', 'commits')"
    written = session.sql(query)
    assert picked(rows(written), list(commits.values())) == picked(
        answer(case, "show_commits"), list(commits)
    )


def test_file_slices_are_those_of_apache_hudi(session, golden_table):
    case = "v9_mor_mdt_indexes"
    path = golden_table(case)
    columns = {
        "partition": "partition_path", "file_id": "file_id", "base_instant": "base_instant_time",
        "data_file": "base_file", "data_file_size": "base_bytes", "num_delta_files": "log_count",
        "total_delta_file_size": "log_bytes",
    }  # fmt: skip
    known = answer(case, "show_fsview_all")
    for row in known:
        row["data_file"] = relative(row["data_file"])
    query = f"SELECT * FROM hudi_inspect('{path}', 'file_slices', 'older=true')"
    found = rows(session.sql(query))
    assert picked(found, list(columns.values())) == picked(known, list(columns))
    amer = rows(session.sql(f"{query} WHERE partition_path = 'amer'"))
    assert amer == [row for row in found if row["partition_path"] == "amer"]
    assert 0 < len(amer) < len(found)


@pytest.mark.parametrize(
    ("case", "arguments", "query"),
    [
        (CHANGES, "'latest_state', 'earliest'", "incr_all"),
        (CHANGES, "'latest_state', '20261121062659947', '20261121062706925'", "incr_mid"),
        ("v9_cow_cdc_data_before", "'cdc', 'earliest'", "cdc_all"),
    ],
)
def test_changes_are_those_of_apache_hudi(session, golden_table, case, arguments, query):
    found = session.sql(f"SELECT * FROM hudi_table_changes('{golden_table(case)}', {arguments})")
    known = hudi_rows(session, case, query)
    if query == "cdc_all":  # the texts of values differ on purpose: see the docs
        assert changed(found) == changed(known)
    else:
        assert_same_rows(found.select(known.columns), known)


def changed(frame):
    """What the changes are, without the values."""
    images = [frame.before, frame.after]
    keys = [sf.get_json_object(image, "$.id").alias(f"id_{i}") for i, image in enumerate(images)]
    return sorted(map(str, frame.select("op", "ts_ms", *keys).collect()))


def test_maps_and_structs_are_values_of_spark(session, golden_table):
    case = "v9_mor_all_types"
    found = session.sql(
        f"SELECT * FROM hudi_table_changes('{golden_table(case)}', 'latest_state', 'earliest')"
    )
    known = hudi_rows(session, case)
    assert_same_rows(
        found.select("id", "c_map_s", "c_struct", "c_arr_s"),
        known.select("id", "c_map_s", "c_struct", "c_arr_s"),
    )


def test_inspection_and_metadata(session, golden_table):
    path = golden_table("v9_mor_mdt_indexes")
    found = session.sql(f"SELECT * FROM hudi_inspect('{path}', 'file_slices', 'older=true')")
    assert found.count() == len(answer("v9_mor_mdt_indexes", "show_fsview_all"))
    listed = "metadata_partition = 'files' AND key <> '__all_partitions__'"
    keys = session.sql(f"SELECT key FROM hudi_metadata('{path}') WHERE {listed}")
    known = answer("v9_mor_mdt_indexes", "show_metadata_table_partitions")
    assert picked(rows(keys), ["key"]) == picked(known, list(known[0]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("hudi_table_changes('{path}', 'new', 'earliest')", "give 'latest_state' or 'cdc'"),
        ("hudi_table_changes('{path}')", "hudi_table_changes(path, 'latest_state' or 'cdc'"),
        ("hudi_metadata(5)", "takes constant texts"),
        ("hudi_metadata('{path}', 'true')", "takes constant texts"),
        ("hudi_inspect('/nowhere', 'files')", "HUDI_PATH_NOT_FOUND"),
        ("hudi_inspect('{path}', 'comits')", "did you mean commits?"),
    ],
)
def test_mistakes_are_named(session, golden_table, call, text):
    query = f"SELECT * FROM {call.format(path=golden_table(CHANGES))}"
    with pytest.raises((AnalysisException, PythonException)) as raised:
        session.sql(query).collect()
    assert text in str(raised.value)


def test_large_range_is_refused(golden_table, monkeypatch):
    monkeypatch.setattr(functions, "_MAX_SLICES", 0)
    _, read = functions.table_changes(str(golden_table(CHANGES)), "latest_state", "earliest")
    with pytest.raises(hudi_pyspark.UnsupportedQueryError, match="TEMPORARY VIEW changes USING"):
        read()


def test_function_of_the_session_stays(spark):
    class Mine:
        def eval(self):
            yield (5,)

    own = spark.newSession()
    own.udtf.register("hudi_metadata", udtf(Mine, returnType="n int"))
    with pytest.warns(UserWarning, match="has a function hudi_metadata, which stays as it is"):
        hudi_pyspark.register_functions(own)
    assert own.sql("SELECT n FROM hudi_metadata()").first()[0] == 5
    hudi_pyspark.register_functions(session := spark.newSession())
    hudi_pyspark.register_functions(session)  # our own are not warned of


def test_expression_of_the_docs_finds_the_nearest_vectors(spark):
    page = (PROJECT / "docs" / "migration.md").read_text(encoding="utf-8")
    section = page.partition("\n### Nearest vectors\n")[2]
    (code, *_) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"spark": spark}
    exec(code, names)
    distance = names["distance"]
    assert [row.id for row in names["nearest"].orderBy("distance").collect()] == ["b", "a"]
    vectors = [(1, [1.0, 0.0]), (2, [0.0, 2.0]), (3, [3.0, 3.0]), (4, None), (5, [0.0, 0.0])]
    frame = spark.createDataFrame(vectors, "id int, v array<float>").where("v IS NOT NULL")

    def nearest(metric, k=2):
        found = frame.withColumn("d", distance("v", [1, 0], metric)).orderBy("d").limit(k)
        return [(row.id, round(row.d, 9)) for row in found.collect()]

    assert nearest("cosine") == [(1, 0.0), (3, round(1 - 1 / math.sqrt(2), 9))]
    assert nearest("l2") == [(1, 0.0), (5, 1.0)]
    assert nearest("dot_product") == [(3, -3.0), (1, -1.0)]
    assert len(nearest("cosine", 9)) == 4
    with pytest.raises(Exception, match="v has a vector without 3 numbers"):
        frame.select(distance("v", [1, 0, 0])).collect()
