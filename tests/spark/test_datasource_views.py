"""Views in SQL that replace functions of Apache Hudi, compared with its procedures and queries."""

import math
from itertools import count

import pytest
from pyspark.sql import functions as sf

import hudi_pyspark
from examples.nearest_vectors import distance
from tests.golden.procedures import answer, picked, relative
from tests.spark.frames import assert_same_rows, hudi_rows

pytestmark = pytest.mark.spark

CHANGES = "v9_mor_compaction_inline"
NUMBERS = count()


@pytest.fixture
def session(spark):
    hudi_pyspark.register(spark)
    return spark


def view(session, path, **options):
    """Name of a new view with some options, as SQL makes it."""
    name = f"view_{next(NUMBERS)}"
    texts = [f"{key.replace('__', '.')} '{value}'" for key, value in options.items()]
    listed = ", ".join([f"path '{path}'", *texts])
    session.sql(f"CREATE TEMPORARY VIEW {name} USING `hudi-py` OPTIONS ({listed})")
    return name


def rows(frame):
    return [row.asDict() for row in frame.collect()]


@pytest.mark.parametrize("case", ["v9_mor_mdt_indexes", "v6_cow_archived", "v9_mor_clustering"])
def test_timeline_and_commits_have_the_numbers_of_apache_hudi(session, golden_table, case):
    path = golden_table(case)
    active = session.table(view(session, path, inspect="timeline", inspect__archived="false"))
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
    name = view(session, path, inspect="commits")
    written = session.sql(f"SELECT *, files - new_files AS updated_files FROM {name}")
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
    name = view(session, path, inspect="file_slices", inspect__older="true")
    query = f"SELECT * FROM {name}"
    found = rows(session.sql(query))
    assert picked(found, list(columns.values())) == picked(known, list(columns))
    amer = rows(session.sql(f"{query} WHERE partition_path = 'amer'"))
    assert amer == [row for row in found if row["partition_path"] == "amer"]
    assert 0 < len(amer) < len(found)


@pytest.mark.parametrize(
    ("case", "options", "query"),
    [
        (CHANGES, {"begin": "earliest"}, "incr_all"),
        (CHANGES, {"begin": "20261121062659947", "end": "20261121062706925"}, "incr_mid"),
        ("v9_cow_cdc_data_before", {"begin": "earliest", "cdc": "true"}, "cdc_all"),
    ],
)
def test_changes_are_those_of_apache_hudi(session, golden_table, case, options, query):
    name = view(session, golden_table(case), query_type="incremental", **options)
    changes = session.table(name)
    known = hudi_rows(session, case, query)
    if query == "cdc_all":  # the texts of values differ on purpose: see the docs
        assert changed(changes) == changed(known)
    else:
        assert_same_rows(changes.select(known.columns), known)


def changed(frame):
    """What the changes are, without the values."""
    images = [frame.before, frame.after]
    keys = [sf.get_json_object(image, "$.id").alias(f"id_{i}") for i, image in enumerate(images)]
    return sorted(map(str, frame.select("op", "ts_ms", *keys).collect()))


def test_records_of_the_metadata_table_name_the_partitions(session, golden_table):
    name = view(session, golden_table("v9_mor_mdt_indexes"), inspect="metadata_records")
    listed = "metadata_partition = 'files' AND key <> '__all_partitions__'"
    keys = session.sql(f"SELECT key FROM {name} WHERE {listed}")
    known = answer("v9_mor_mdt_indexes", "show_metadata_table_partitions")
    assert picked(rows(keys), ["key"]) == picked(known, list(known[0]))


def test_expression_of_the_examples_finds_the_nearest_vectors(spark):
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
