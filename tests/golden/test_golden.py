"""Every covered query of every golden case answers what Apache Hudi answers."""

import zipfile
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import (
    HudiTable,
    IncrementalRangeError,
    InvalidInstantError,
    InvalidOptionError,
    TimeTravelError,
    UnsupportedTableError,
    thresholds,
)
from hudi_pyspark.format.properties import parse_properties
from tests.conftest import GOLDEN
from tests.golden.case import Case, load_cases
from tests.golden.deviations import certain_answers
from tests.golden.filters import Filter, random_filter
from tests.golden.questions import Question, Whole
from tests.golden.run import ask_questions, judge, run_case, run_query
from tests.sampling import SAMPLED, sample

CASES = load_cases(GOLDEN)
EXTRA = load_cases(GOLDEN.with_name("golden_extra"))
QUERIES = {query.key: (case, query) for case in CASES for query in case.queries}

NO_COMMIT_TIMES = "incremental queries need the column _hoodie_commit_time"
# Queries that Apache Hudi fails on, on purpose: the error here, and what it says.
REFUSED = {
    "flink_v6_cow_append_clustered/as_of_c3": (TimeTravelError, "a commit that has not completed"),
    "flink_v6_cow_append_clustered/incr_all": (IncrementalRangeError, "has not completed, but"),
    "flink_v6_cow_append_clustered/incr_after_c1": (IncrementalRangeError, "later commits have"),
    "flink_v6_cow_append_clustered/incr_end_after_pending": (
        IncrementalRangeError,
        "commit 20261121072507280 has not completed",
    ),
    "v6_cow_archived/as_of_archived": (TimeTravelError, "earliest commit that the cleaner kept"),
    "v6_cow_archived/as_of_c1": (TimeTravelError, "earliest commit that the cleaner kept"),
    **{
        f"v2_mor_virtual_keys/incr_{name}": (UnsupportedTableError, NO_COMMIT_TIMES)
        for name in ("all", "after_c1", "after_c4", "c2_c3", "000_mid")
    },
    "v10_mor_no_meta_fields/incr_all": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v10_mor_no_meta_fields/incr_after_c1": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v10_mor_no_meta_fields/incr_mid": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v6_cow_no_meta_fields/incr_all": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v6_cow_no_meta_fields/incr_after_c1": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v6_mor_clean_only/as_of_c1": (TimeTravelError, "earliest commit that the cleaner kept"),
    "v6_mor_clean_only/as_of_c5": (TimeTravelError, "earliest commit that the cleaner kept"),
    "v9_cow_incr_options/incr_no_begin": (
        InvalidOptionError,
        r"an incremental query needs begin \(hoodie\.datasource\.read\.begin\.instanttime\)",
    ),
    "v9_cow_incr_options/as_of_bad": (InvalidInstantError, "'yesterday' is not an instant"),
    "v9_cow_no_meta_fields/incr_all": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v9_cow_no_meta_fields/incr_after_c1": (UnsupportedTableError, NO_COMMIT_TIMES),
    "v9_mor_archived/as_of_archived": (TimeTravelError, "earliest commit that the cleaner kept"),
    "v9_mor_archived/as_of_c1": (TimeTravelError, "earliest commit that the cleaner kept"),
}
# Queries that Apache Hudi fails on by a defect, and the number of rows that are certain.
ANSWERED = {
    # 1.0.2 compares an ordering value with a default of another type; 1.2.0 reads the table.
    "v8_mor_event_time_string_ordering/snapshot": 6,
    # 1.x cannot read the HFile blocks it writes; version 6's case was made from the same data.
    "v9_mor_logblock_hfile/snapshot": 16,
}


def with_some_queries(case: Case) -> Case:
    """Keep the first query, mostly the snapshot, and half of the others: three or more in all."""
    first, *others = (query for query in case.queries if query.is_covered)
    some = sample(others, case.name, 2 if len(others) > 3 else 1)
    return replace(case, queries=(first, *some))


@pytest.mark.parametrize("case", CASES + EXTRA, ids=lambda case: case.name)
@SAMPLED
def test_every_query_answers_as_apache_hudi(case, is_whole):
    outcomes = list(run_case(case if is_whole else with_some_queries(case)))
    assert outcomes
    assert [(o.query.name, o.problems) for o in outcomes if o.problems] == []


MERGE_PROPERTIES = (
    "hoodie.table.version",
    "hoodie.record.merge.mode",
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class",
    "hoodie.table.partial.update.mode",
    "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields",
)


def merge_of(case: Case) -> tuple[str | None, ...]:
    """The properties of a table that decide how its log records are merged."""
    with zipfile.ZipFile(case.folder / "table.zip") as archive:
        text = archive.read(f"{case.name}/.hoodie/hoodie.properties")
    properties = parse_properties(text)
    return tuple(properties.get(name) for name in MERGE_PROPERTIES)


def one_table_of_each_merge(cases: list[Case]) -> list[Case]:
    """The largest MERGE_ON_READ table of each payload class, ordering and table version."""
    by_size = sorted(cases, key=lambda case: (case.folder / "table.zip").stat().st_size)
    return list({merge_of(case): case for case in by_size if "_mor_" in case.name}.values())


@pytest.mark.parametrize("case", one_table_of_each_merge(CASES), ids=lambda case: case.name)
@SAMPLED
def test_every_query_of_log_files_answers_the_same_when_their_records_are_spilled(case, is_whole):
    some = case if is_whole else with_some_queries(case)
    outcomes = run_case(some, {"hoodie.memory.merge.max.size": "1"})
    assert [(o.query.name, o.problems) for o in outcomes if o.problems] == []


def cases_of_small_slices() -> list[Case]:
    """A table of each merge, and one whose deletes only positions match: keys are not stored."""
    no_keys = next(case for case in CASES if case.name == "v9_mor_no_meta_fields_complex")
    return list({c.name: c for c in [*one_table_of_each_merge(CASES), no_keys]}.values())


@pytest.mark.parametrize("case", cases_of_small_slices(), ids=lambda case: case.name)
@SAMPLED
def test_every_query_answers_the_same_when_small_slices_are_merged_together(
    case, is_whole, monkeypatch
):
    monkeypatch.setattr(thresholds, "FEWEST_JOINED_SLICES", 1)
    outcomes = run_case(case if is_whole else with_some_queries(case))
    assert [(o.query.name, o.problems) for o in outcomes if o.problems] == []


@pytest.mark.parametrize("case", CASES + EXTRA, ids=lambda case: case.name)
@SAMPLED
def test_other_forms_of_a_query_answer_what_follows_from_its_rows(case, is_whole, tmp_path):
    """A few, the same ones in each run; `make golden` asks all."""
    some = Random(case.name).sample(case.queries, min(3, len(case.queries)))
    some = some if is_whole else sample(some, case.name, 2)
    found = ask_questions(replace(case, queries=tuple(some)), case.extract(tmp_path), 1, most=1)
    assert [str(asked) for asked in found if asked.problems] == []


@pytest.mark.parametrize(("query", "error", "says"), [(q, *e) for q, e in REFUSED.items()])
def test_what_apache_hudi_refuses_is_refused_by_name(query, error, says, golden_table):
    case, known = QUERIES[query]
    assert known.error
    with pytest.raises(error, match=says) as raised:
        HudiTable(str(golden_table(case.name))).scan(**known.options).to_arrow()
    assert raised.type is error


@pytest.mark.parametrize(("query", "rows"), ANSWERED.items())
def test_what_apache_hudi_fails_on_by_a_defect_is_answered(query, rows, golden_table):
    case, known = QUERIES[query]
    answer = HudiTable(str(golden_table(case.name))).scan(**known.options).to_arrow()
    assert answer.num_rows == rows
    assert judge(case, known, answer).problems == ()


def test_every_query_that_apache_hudi_fails_on_is_listed():
    failing = {key for key, (_, query) in QUERIES.items() if "error" in query.facts}
    unanswered = {key for key in failing if QUERIES[key][1].answer is None}
    assert unanswered <= {*REFUSED, *ANSWERED, *certain_answers()}
    assert {*REFUSED, *ANSWERED} <= failing


def test_clustering_that_an_overwrite_overtook_changes_no_rows(tmp_path):
    # What "fewer" rows of D35 are: those as of the commit before the clustering.
    case = next(case for case in EXTRA if case.name == "x_v9_cow_sl_replaced_twice")
    before, clustering = (next(q for q in case.queries if q.name == f"as_of_c{n}") for n in (1, 2))
    names = ["id", "v", "ts", "region"]
    answer = HudiTable(str(case.extract(tmp_path))).scan(**clustering.options).to_arrow()
    expected = before.expected_rows().select(names)
    assert answer.select(names).sort_by("id") == expected.sort_by("id")


WHOLE = Whole(
    pa.table({"a": [1, 1, 2], "b": ["x", "y", None]}),
    [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
)
ONE = Filter("a = 1", lambda row: row["a"] == 1)


@pytest.mark.parametrize(
    ("question", "good", "bad"),
    [
        (Question(is_count=True), 3, 0),
        (Question(is_count=True, condition=ONE), 2, 3),
        (Question(is_count=True, limit=2), 2, 3),
        (Question(("a",)), pa.table({"a": [2, 1, 1]}), pa.table({"a": [2, 2, 1]})),
        (Question(("b",), ONE), pa.table({"b": ["y", "x"]}), pa.table({"b": ["y", "x", None]})),
        (Question(("a",), limit=2), pa.table({"a": [1, 2]}), pa.table({"a": [2, 2]})),
        (Question(("a",), limit=2), pa.table({"a": [1, 2]}), pa.table({"a": [1]})),
    ],
)
def test_form_of_a_query_is_judged_by_the_rows_of_the_whole(question, good, bad):
    assert question.problems(good, WHOLE) == []
    assert question.problems(bad, WHOLE) != []


def test_record_positions_are_not_left_out_where_a_key_is_there_twice():
    keys = {"_hoodie_partition_path": ["p", "p", "q"], "_hoodie_record_key": ["1", "2", "1"]}
    assert Whole(pa.table(keys), []).has_unique_keys
    assert not Whole(pa.table({**keys, "_hoodie_record_key": ["1", "1", "1"]}), []).has_unique_keys
    assert not WHOLE.has_unique_keys


def test_conditions_have_no_value_without_a_literal():
    rows = pa.table({"d": [0.5, float("inf"), None]})
    texts = {random_filter(rows, Random(seed)).text for seed in range(200)}
    assert not any("None" in text for text in texts)


def test_same_seed_asks_the_same(tmp_path):
    case = next(case for case in CASES if case.name == "v9_mor_logblock_parquet")
    path = case.extract(tmp_path)
    first, second, other = (
        [(str(a.question), a.options) for a in ask_questions(case, path, seed, most=2)]
        for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("name", ["x_v5_cow_old_basic", "x_v5_mor_old_event"])
def test_table_with_the_properties_of_version_0_gives_the_same_answers(name, tmp_path):
    case = next(case for case in EXTRA if case.name == name)
    path = case.extract(tmp_path)
    file = path / ".hoodie" / "hoodie.properties"
    # What releases before 0.6 wrote: neither a version nor keys, partition columns or a checksum.
    kept = ("name=", "type=", "precombine.field=")
    known = [f"hoodie.table.{key}" for key in kept]
    known += ["hoodie.archivelog.folder=", "hoodie.compaction.payload.class="]
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if line.startswith(tuple(known))))
    assert HudiTable(str(path))._view.config.version == 0
    for query in case.queries:
        assert run_query(case, query, path, {}).problems == ()


def test_partition_values_that_apache_hudi_fails_to_cast_are_those_of_the_files(golden_table):
    path = golden_table("trino_hudi_custom_keygen_pt_v8_mor")
    groups: dict[str, list[str]] = {}
    for file in sorted(map(str, path.rglob("*.parquet")), key=lambda name: name.split("_")[-1]):
        groups.setdefault(file.rpartition("/")[2].partition("_")[0], []).append(file)
    # The names sort by commit, and every log file was compacted.
    newest = pa.concat_tables(pq.ParquetFile(files[-1]).read() for files in groups.values())
    names = ["id", "price", "partition_field_country", "partition_field_date"]
    answer = HudiTable(str(path)).scan(names).to_arrow()
    assert answer.sort_by("id").to_pylist() == newest.select(names).sort_by("id").to_pylist()


def test_cases_are_varied():
    versions = {case.name.split("_")[0] for case in CASES}
    kinds = {part for case in CASES for part in case.name.split("_") if part in ("cow", "mor")}
    assert versions | kinds >= {"v6", "v8", "v9", "flink", "cow", "mor"}
    assert sum(query.is_covered for case in CASES for query in case.queries) > 130
