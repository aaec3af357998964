import io
import json

import fastavro
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.timeline.instant import WriteOperationType
from hudi_pyspark.format.timeline.instant_metadata import (
    CleanedPartition,
    CleanMetadata,
    CommitMetadata,
    PlannedSlice,
    ReplacePlan,
    RollbackMetadata,
    RolledBackPartition,
    SavepointMetadata,
    WriteStat,
    parse_clean_metadata,
    parse_commit_metadata,
    parse_compaction_plan,
    parse_replace_plan,
    parse_restore_metadata,
    parse_rollback_metadata,
    parse_rollback_plan,
    parse_savepoint_metadata,
)

PATH = ".hoodie/timeline/001.commit"
T1, T2 = "20261121072137751", "20261121072141635"
LOG_1 = f".f-0_{T1}.log.1_0-21-37"
LOG_2 = f".f-0_{T1}.log.2_1-0-1"
BASE = f"f-0_0-3-6_{T1}.parquet"


def optional(avro_type):
    return ["null", avro_type]


def avro_record(name, **fields):
    named = [{"name": field, "type": avro_type} for field, avro_type in fields.items()]
    return {"type": "record", "name": name, "fields": named}


def array(items):
    return {"type": "array", "items": items}


def mapping(values):
    return {"type": "map", "values": values}


def container(schema, *records):
    body = io.BytesIO()
    fastavro.writer(body, fastavro.parse_schema(schema), records)
    return body.getvalue()


STAT_SCHEMA = avro_record(
    "HoodieWriteStat",
    fileId=optional("string"),
    path=optional("string"),
    prevCommit=optional("string"),
    numWrites=optional("long"),
    numDeletes=optional("long"),
    numUpdateWrites=optional("long"),
    totalWriteBytes=optional("long"),
    totalWriteErrors=optional("long"),
    partitionPath=optional("string"),
    numInserts=optional("long"),
    fileSizeInBytes=optional("long"),
    baseFile=optional("string"),
    logFiles=optional(array("string")),
    cdcStats=optional(mapping("long")),
    prevBaseFile=optional("string"),
)
COMMIT_SCHEMA = avro_record(
    "HoodieReplaceCommitMetadata",
    partitionToWriteStats=optional(mapping(array(STAT_SCHEMA))),
    compacted=optional("boolean"),
    extraMetadata=optional(mapping("string")),
    version=optional("int"),
    operationType=optional("string"),
    partitionToReplaceFileIds=optional(mapping(array("string"))),
)
COMMIT = {
    "partitionToWriteStats": {
        "ds=1/h=2": [
            {
                "fileId": "f-0",
                "path": f"ds=1/h=2/{LOG_1}",
                "prevCommit": T1,
                "numWrites": 5,
                "numDeletes": 1,
                "numUpdateWrites": 3,
                "numInserts": 2,
                "totalWriteBytes": 1190,
                "totalWriteErrors": 0,
                "partitionPath": "ds=1/h=2",
                "fileSizeInBytes": 1189,
                "baseFile": BASE,
                "logFiles": [LOG_2, LOG_1],
                "cdcStats": {f"ds=1/h=2/{LOG_1}.cdc": 77},
                "prevBaseFile": None,
            }
        ]
    },
    "compacted": False,
    "extraMetadata": {"schema": '{"type":"record"}', "latest_schema": "", "mine": "1"},
    "operationType": "INSERT_OVERWRITE",
    "partitionToReplaceFileIds": {"ds=0": ["a-0", "b-0"], "": []},
}
EXPECTED = CommitMetadata(
    write_stats={
        "ds=1/h=2": (
            WriteStat(
                file_id="f-0",
                path=f"ds=1/h=2/{LOG_1}",
                prev_commit=T1,
                num_writes=5,
                num_deletes=1,
                num_update_writes=3,
                num_inserts=2,
                total_write_bytes=1190,
                total_write_errors=0,
                file_size=1189,
                base_file=BASE,
                log_files=(LOG_2, LOG_1),
                cdc_files=((f"ds=1/h=2/{LOG_1}.cdc", 77),),
            ),
        )
    },
    replaced_file_ids={"ds=0": ("a-0", "b-0"), "": ()},
    extra_metadata={"schema": '{"type":"record"}', "latest_schema": "", "mine": "1"},
    operation_type=WriteOperationType.INSERT_OVERWRITE,
)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps(COMMIT, indent=2).encode(), id="json"),
        pytest.param(b"\n " + json.dumps(COMMIT).encode(), id="json-after-blanks"),
        pytest.param(container(COMMIT_SCHEMA, {**COMMIT, "version": 1}), id="avro"),
    ],
)
def test_commit_says_the_same_as_json_and_as_avro(body):
    assert parse_commit_metadata(body, path=PATH) == EXPECTED


@pytest.fixture
def counts_as_large(monkeypatch):
    monkeypatch.setattr(thresholds, "LARGE_COMMIT", 0)


@pytest.mark.usefixtures("counts_as_large")
@pytest.mark.parametrize(
    ("changes", "has_sample"),
    [
        pytest.param({}, True, id="stats"),
        pytest.param({"partitionToWriteStats": None}, False, id="null"),
        pytest.param({"partitionToWriteStats": {}}, False, id="no-partition"),
        pytest.param({"partitionToWriteStats": {"ds=1": []}}, False, id="no-file"),
        pytest.param({"extraMetadata": {"mine": "1"}}, False, id="no-schema"),
        # The end of the stats is found by two zeros: these have more of them, or ambiguous ones.
        pytest.param({"extraMetadata": {"schema": "{}", "b": ""}, "version": 0}, True, id="zeros"),
        pytest.param({"compacted": None, "operationType": None}, True, id="nulls"),
        pytest.param({"partitionToReplaceFileIds": None}, True, id="nothing-replaced"),
        pytest.param({"extraMetadata": {"": "", "schema": "{}"}}, True, id="empty-key"),
    ],
)
def test_large_commit_is_the_same_with_stats_that_are_decoded_later(changes, has_sample):
    commit = {**COMMIT, "version": 1, **changes}
    found = parse_commit_metadata(container(COMMIT_SCHEMA, commit), path=PATH)
    assert found == parse_commit_metadata(json.dumps(commit).encode(), path=PATH)
    assert found.sample == (EXPECTED.write_stats["ds=1/h=2"][0] if has_sample else None)


@pytest.mark.usefixtures("counts_as_large")
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(
            avro_record("R", version=optional("int"), partitionToWriteStats="null"), id="no-stats"
        ),
        pytest.param(
            avro_record("R", version="int", partitionToWriteStats="null"), id="number-first"
        ),
    ],
)
def test_large_commit_of_another_shape_is_decoded_at_once(schema):
    record = {"version": 1, "partitionToWriteStats": None}
    found = parse_commit_metadata(container(schema, record), path=PATH)
    assert found == CommitMetadata()
    assert found.sample is None


@pytest.mark.usefixtures("counts_as_large")
def test_large_commit_that_is_no_record_is_refused():
    with pytest.raises(CorruptTimelineError, match="expected the Avro schema of a record"):
        parse_commit_metadata(container("int", 1), path=PATH)


@pytest.mark.usefixtures("counts_as_large")
def test_damaged_stat_of_a_large_commit_is_refused_when_it_is_asked_for():
    two = {"ds=1": [{"fileId": "f-0"}, {"fileId": "f-1"}]}
    commit = {"partitionToWriteStats": two, "extraMetadata": {"schema": "{}"}}
    body = container(COMMIT_SCHEMA, commit)
    assert body.count(b"f-1") == 1
    found = parse_commit_metadata(body.replace(b"f-1", b"f-\xff"), path=PATH)
    assert found.sample is not None
    assert found.sample.file_id == "f-0"
    assert found.schema_text == "{}"
    with pytest.raises(CorruptTimelineError, match="UnicodeDecodeError") as raised:
        list(found.all_stats())
    assert raised.value.place == PATH


def test_stats_come_with_their_partition():
    assert list(EXPECTED.all_stats()) == [("ds=1/h=2", EXPECTED.write_stats["ds=1/h=2"][0])]


def test_empty_schema_counts_as_none():
    assert EXPECTED.schema_text == '{"type":"record"}'
    assert EXPECTED.internal_schema_text is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty-file"),
        pytest.param(b"{}", id="empty-object"),
        pytest.param(
            b'{"partitionToWriteStats": null, "extraMetadata": null, "operationType": null}',
            id="nulls",
        ),
        pytest.param(
            b'{"partitionToWriteStats": {}, "operationType": "NEWER_THAN_THIS", "unknown": [1]}',
            id="unknown-names",
        ),
    ],
)
def test_what_a_commit_does_not_say_is_empty(body):
    metadata = parse_commit_metadata(body, path=PATH)
    assert metadata == CommitMetadata()
    assert metadata.operation_type is WriteOperationType.UNKNOWN


def test_stat_of_a_new_file_has_no_predecessor():
    # From table version 8 on Hudi writes the text "null" and empty texts where it means none.
    stat = {"fileId": "f-0", "prevCommit": "null", "baseFile": "", "prevBaseFile": "", "path": None}
    body = json.dumps({"partitionToWriteStats": {"": [stat]}}).encode()
    (parsed,) = parse_commit_metadata(body, path=PATH).write_stats[""]
    assert parsed.prev_commit is None
    assert parsed.base_file is None
    assert (parsed.path, parsed.log_files, parsed.cdc_files, parsed.num_writes) == ("", (), (), 0)


GOOD_AVRO = container(COMMIT_SCHEMA, {**COMMIT, "version": None})


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"PAR1", "neither JSON nor Avro: it begins with b'PAR1'", id="parquet"),
        pytest.param(b"   ", "neither JSON nor Avro", id="blanks"),
        pytest.param(b'{"partition', "JSONDecodeError", id="json-cut-off"),
        pytest.param(b'{"a": "\xff"}', "UnicodeDecodeError", id="json-not-utf-8"),
        pytest.param(b'{"partitionToWriteStats": [1]}', "dict, found list", id="list-for-map"),
        pytest.param(b'{"partitionToWriteStats": {"": [1]}}', "int in it", id="number-for-stat"),
        pytest.param(b'{"a":' * 100_000, "RecursionError|JSONDecodeError", id="json-too-deep"),
        pytest.param(GOOD_AVRO[:4], "EOFError|ValueError|cannot read header", id="avro-magic-only"),
        pytest.param(GOOD_AVRO[:300], ":", id="avro-header-cut-off"),
        pytest.param(GOOD_AVRO[:-40], "EOFError|ValueError|IndexError", id="avro-record-cut-off"),
        pytest.param(container(COMMIT_SCHEMA), "found none", id="avro-without-record"),
        pytest.param(
            container("int", 1), "expected the Avro schema of a record", id="avro-no-record"
        ),
    ],
)
def test_undecodable_commit_is_refused_with_its_path(body, problem):
    with pytest.raises(CorruptTimelineError, match=problem) as raised:
        parse_commit_metadata(body, path=PATH)
    assert raised.value.place == PATH
    assert raised.value.__cause__ is not None


@pytest.mark.parametrize(
    "found",
    [
        {"fileId": 7},
        {"path": {"val": None}},
        {"prevCommit": ["001"]},
        {"baseFile": True},
        {"numWrites": "7"},
        {"fileSizeInBytes": [1]},
        {"logFiles": "f.log"},
        {"logFiles": [None]},
        {"cdcStats": {"f": "7"}},
    ],
    ids=str,
)
def test_stat_with_a_value_of_another_type_is_refused(found):
    body = json.dumps({"partitionToWriteStats": {"a": [{"fileId": "f-0", **found}]}}).encode()
    with pytest.raises(CorruptTimelineError, match="expected"):
        parse_commit_metadata(body, path=PATH)


@pytest.mark.parametrize(
    "found",
    [
        {"partitionToReplaceFileIds": {"a": "f-0"}},
        {"partitionToReplaceFileIds": {"a": [0]}},
        {"extraMetadata": {"schema": {"type": "record"}}},
    ],
    ids=str,
)
def test_commit_with_a_value_of_another_type_is_refused(found):
    body = json.dumps({"partitionToWriteStats": {}, **found}).encode()
    with pytest.raises(CorruptTimelineError, match=r"expected (str|list|dict), found"):
        parse_commit_metadata(body, path=PATH)


OPERATION_SCHEMA = avro_record(
    "HoodieCompactionOperation",
    baseInstantTime=optional("string"),
    deltaFilePaths=optional(array("string")),
    dataFilePath=optional("string"),
    fileId=optional("string"),
    partitionPath=optional("string"),
    bootstrapFilePath=optional("string"),
)
PLAN_SCHEMA = avro_record(
    "HoodieCompactionPlan",
    operations=optional(array(OPERATION_SCHEMA)),
    version=optional("int"),
)


def operation(**fields):
    return {
        "baseInstantTime": T1,
        "deltaFilePaths": [LOG_1],
        "dataFilePath": BASE,
        "fileId": "f-0",
        "partitionPath": "p",
        "bootstrapFilePath": None,
        **fields,
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, PlannedSlice("p", "f-0", (LOG_1,)), id="file-names"),
        pytest.param(
            {"dataFilePath": f"file:/t/p/{BASE}", "deltaFilePaths": [f"/t/p/{LOG_1}", LOG_2]},
            PlannedSlice("p", "f-0", (LOG_1, LOG_2)),
            id="full-paths-of-version-1",
        ),
        pytest.param(
            {"dataFilePath": None, "partitionPath": "", "deltaFilePaths": None},
            PlannedSlice("", "f-0", ()),
            id="no-base-file",
        ),
        pytest.param(
            {"bootstrapFilePath": "file:/source/part-0.parquet"},
            PlannedSlice("p", "f-0", (LOG_1,)),
            id="bootstrapped",
        ),
    ],
)
def test_compaction_plan_names_its_slices(fields, expected):
    body = container(PLAN_SCHEMA, {"operations": [operation(**fields)], "version": 2})
    assert parse_compaction_plan(body, path=PATH) == (expected,)


def test_compaction_without_its_plan_is_refused():
    with pytest.raises(CorruptTimelineError, match="expected a compaction plan, found an empty"):
        parse_compaction_plan(b"", path=PATH)


SLICE_SCHEMA = avro_record(
    "HoodieSliceInfo",
    dataFilePath=optional("string"),
    deltaFilePaths=optional(array("string")),
    fileId=optional("string"),
    partitionPath=optional("string"),
    bootstrapFilePath=optional("string"),
)
GROUP_SCHEMA = avro_record("HoodieClusteringGroup", slices=optional(array(SLICE_SCHEMA)))
REQUESTED_REPLACE_SCHEMA = avro_record(
    "HoodieRequestedReplaceMetadata",
    operationType=optional("string"),
    clusteringPlan=optional(
        avro_record("HoodieClusteringPlan", inputGroups=optional(array(GROUP_SCHEMA)))
    ),
)


def test_clustering_plan_has_groups_of_slices():
    slices = [
        {
            "dataFilePath": f"file:/t/p/{BASE}",
            "deltaFilePaths": [],
            "fileId": "f-0",
            "partitionPath": "p",
            "bootstrapFilePath": "",
        }
    ]
    groups = [{"slices": slices}, {"slices": None}]
    record = {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": groups}}
    plan = parse_replace_plan(container(REQUESTED_REPLACE_SCHEMA, record), path=PATH)
    expected = PlannedSlice("p", "f-0", ())
    assert plan == ReplacePlan(WriteOperationType.CLUSTER, ((expected,), ()))
    assert plan.is_clustering
    assert list(plan.all_slices()) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty-file"),
        pytest.param(
            container(REQUESTED_REPLACE_SCHEMA, {"operationType": None, "clusteringPlan": None}),
            id="no-operation",
        ),
    ],
)
def test_insert_overwrite_leaves_the_replace_plan_empty(body):
    plan = parse_replace_plan(body, path=PATH)
    assert plan == ReplacePlan(WriteOperationType.UNKNOWN, ())
    assert not plan.is_clustering


def test_clean_says_what_is_gone_and_what_is_whole():
    partition = avro_record(
        "HoodieCleanPartitionMetadata",
        successDeleteFiles=array("string"),
        failedDeleteFiles=array("string"),
        isPartitionDeleted=optional("boolean"),
    )
    schema = avro_record(
        "HoodieCleanMetadata",
        earliestCommitToRetain="string",
        lastCompletedCommitTimestamp="string",
        partitionMetadata=mapping(partition),
    )
    record = {
        "earliestCommitToRetain": T1,
        "lastCompletedCommitTimestamp": "",
        "partitionMetadata": {
            "p": {
                "successDeleteFiles": [BASE],
                "failedDeleteFiles": [f"file:/t/p/{LOG_1}"],
                "isPartitionDeleted": True,
            }
        },
    }
    assert parse_clean_metadata(container(schema, record), path=PATH) == CleanMetadata(
        T1, None, (CleanedPartition("p", (BASE,), (LOG_1,)),)
    )


INSTANT_SCHEMA = avro_record("HoodieInstantInfo", commitTime="string", action="string")
ROLLBACK_SCHEMA = avro_record(
    "HoodieRollbackMetadata",
    commitsRollback=array("string"),
    partitionMetadata=mapping(
        avro_record(
            "HoodieRollbackPartitionMetadata",
            successDeleteFiles=array("string"),
            rollbackLogFiles=optional(mapping("long")),
            logFilesFromFailedCommit=optional(mapping("long")),
        )
    ),
    instantsRollback=array(INSTANT_SCHEMA),
)
ROLLBACK = {
    "commitsRollback": [T2],
    "partitionMetadata": {
        "p": {
            "successDeleteFiles": [f"/t/p/{BASE}"],
            "rollbackLogFiles": {f"/t/p/{LOG_2}": 9},
            "logFilesFromFailedCommit": {f"/t/p/{LOG_1}": 99},
        }
    },
    "instantsRollback": [{"commitTime": T2, "action": "deltacommit"}],
}
ROLLED_BACK = RollbackMetadata(
    (T2,),
    (RolledBackPartition("p", (BASE,), (LOG_2,)),),
)


def test_rollback_names_instants_and_files():
    body = container(ROLLBACK_SCHEMA, ROLLBACK)
    assert parse_rollback_metadata(body, path=PATH) == ROLLED_BACK


def test_restore_holds_its_rollbacks():
    schema = avro_record(
        "HoodieRestoreMetadata",
        instantsToRollback=array("string"),
        hoodieRestoreMetadata=mapping(array(ROLLBACK_SCHEMA)),
        restoreInstantInfo=array("HoodieInstantInfo"),
    )
    record = {
        "instantsToRollback": [T2],
        "hoodieRestoreMetadata": {T2: [ROLLBACK]},
        "restoreInstantInfo": [{"commitTime": T2, "action": "deltacommit"}],
    }
    assert parse_restore_metadata(container(schema, record), path=PATH) == RollbackMetadata(
        (T2,), ROLLED_BACK.partitions
    )


def test_savepoint_names_the_files_it_keeps():
    schema = avro_record(
        "HoodieSavepointMetadata",
        savepointedBy="string",
        partitionMetadata=mapping(
            avro_record("HoodieSavepointPartitionMetadata", savepointDataFile=array("string"))
        ),
    )
    record = {
        "savepointedBy": "me",
        "partitionMetadata": {"p": {"savepointDataFile": [BASE, LOG_1]}},
    }
    assert parse_savepoint_metadata(container(schema, record), path=PATH) == SavepointMetadata(
        {"p": (BASE, LOG_1)}, saved_by="me"
    )


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        (parse_clean_metadata, CleanMetadata(None, None, ())),
        (parse_rollback_metadata, RollbackMetadata((), ())),
        (parse_restore_metadata, RollbackMetadata((), ())),
        (parse_savepoint_metadata, SavepointMetadata({})),
    ],
)
def test_empty_completed_file_is_an_action_without_content(parse, expected):
    assert parse(b"", path=PATH) == expected


@pytest.mark.parametrize(
    "parse",
    [
        parse_compaction_plan,
        parse_replace_plan,
        parse_clean_metadata,
        parse_rollback_metadata,
        parse_restore_metadata,
        parse_savepoint_metadata,
    ],
)
def test_undecodable_service_file_is_refused_with_its_path(parse):
    with pytest.raises(CorruptTimelineError, match=r"001\.commit: ValueError: neither JSON"):
        parse(b"#HUDI#", path=PATH)


@pytest.mark.parametrize(
    ("parse", "found"),
    [
        (parse_compaction_plan, {"operations": [{"fileId": 1}]}),
        (parse_compaction_plan, {"operations": [{"fileId": "f-0", "partitionPath": ["p"]}]}),
        (parse_clean_metadata, {"earliestCommitToRetain": 1}),
        (parse_clean_metadata, {"earliestCommitToRetain": "", "timeTakenInMillis": "1"}),
        (parse_rollback_metadata, {"commitsRollback": "001"}),
        (parse_rollback_plan, {"instantToRollback": {"commitTime": {}}}),
        (parse_restore_metadata, {"hoodieRestoreMetadata": {}, "instantsToRollback": [None]}),
        (parse_savepoint_metadata, {"savepointedBy": True}),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_service_file_with_a_value_of_another_type_is_refused(parse, found):
    with pytest.raises(CorruptTimelineError, match=r"expected (str|list|dict|int), found"):
        parse(json.dumps(found).encode(), path=PATH)
