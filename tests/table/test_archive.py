import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark.errors import CorruptTimelineError
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.format.timeline.instant import (
    COMMIT_ACTIONS,
    Action,
    InstantState,
    RequestedTime,
)
from hudi_pyspark.format.timeline.instant_metadata import (
    CommitMetadata,
    clean_metadata_of,
    commit_metadata_of,
)
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.archive import ArchivedInstant, load_archive, load_archived_metadata
from hudi_pyspark.table.view import open_table
from tests.format.log.log_writer import avro_content, write_block
from tests.golden.case import load_case
from tests.memory_storage import MemoryStorage
from tests.table.archive_files import ENTRY, STAT, archive_block, entry
from verification.common.archives import files_of

GOLDEN = Path(__file__).parents[1] / "golden"
ARCHIVED = ".hoodie/archived"
HISTORY = ".hoodie/timeline/history"


def commits_of(storage, instants) -> tuple[CommitMetadata, ...]:
    return load_archived_metadata(storage, instants, commit_metadata_of)


def archive(**files):
    """Archive files by their number, as in ``archive(_3=b"…")``."""
    named = {
        f"{ARCHIVED}/.commits_.archive{n.replace('_', '.')}_1-0-1": b for n, b in files.items()
    }
    return MemoryStorage(named)


def times(instants):
    return [(i.requested_time, i.action) for i in instants]


class TestArchiveFiles:
    def test_completed_entries_are_sorted_and_come_once(self):
        storage = archive(
            _2=archive_block(entry("003", "clean"), entry("001", "deltacommit")),
            _10=archive_block(entry("002", "commit")) + archive_block(entry("001", "deltacommit")),
        )
        assert times(load_archive(storage, 1, [ARCHIVED])) == [
            ("001", "deltacommit"),
            ("002", "commit"),
            ("003", "clean"),
        ]

    def test_pending_states_do_not_count(self):
        block = archive_block(
            entry("001", "compaction", "REQUESTED"),
            entry("001", "compaction", "INFLIGHT"),
            entry("001", "commit", "COMPLETED"),
            entry("002", "commit", "INFLIGHT"),
        )
        assert times(load_archive(archive(_1=block), 1, [ARCHIVED])) == [("001", "commit")]

    def test_entry_without_state_is_completed(self):
        storage = archive(_1=archive_block(entry("001", "commit", None)))
        assert times(load_archive(storage, 0, [ARCHIVED])) == [("001", "commit")]

    def test_instants_of_one_time_are_told_apart_by_action(self):
        storage = archive(_1=archive_block(entry("001", "savepoint"), entry("001", "commit")))
        assert times(load_archive(storage, 1, [ARCHIVED])) == [
            ("001", "commit"),
            ("001", "savepoint"),
        ]

    def test_instant_has_no_completion_time(self):
        (archived,) = load_archive(archive(_1=archive_block(entry("001", "commit"))), 1, [ARCHIVED])
        path = f"{ARCHIVED}/.commits_.archive.1_1-0-1"
        time = RequestedTime("001")
        assert archived == ArchivedInstant(time, Action.COMMIT, InstantState.COMPLETED, None, path)
        assert archived.file_name(1) == "001.commit"

    def test_other_files_of_the_folder_are_not_read(self):
        storage = archive(_1=archive_block(entry("001", "commit")))
        storage.files[f"{ARCHIVED}/..commits_.archive.1_1-0-1.crc"] = b"crc"
        storage.files[f"{ARCHIVED}/.commits_.archive.1_1-0-1.crc"] = b"crc"
        storage.files[f"{ARCHIVED}/.commits_.archive.x"] = b"x"
        assert times(load_archive(storage, 1, [ARCHIVED])) == [("001", "commit")]

    def test_missing_folder_is_an_empty_archive(self):
        assert load_archive(MemoryStorage({}), 1, [ARCHIVED]) == ()

    def test_torn_block_is_skipped(self):
        torn = archive_block(entry("002", "commit"))[:-20]
        storage = archive(
            _1=archive_block(entry("001", "commit")) + torn + archive_block(entry("003", "commit"))
        )
        assert times(load_archive(storage, 1, [ARCHIVED])) == [("001", "commit"), ("003", "commit")]

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"PAR1 PAR1", id="no-log-file"),
            pytest.param(write_block(LogBlockType.AVRO_DATA_BLOCK, {}), id="no-schema"),
            pytest.param(
                write_block(
                    LogBlockType.AVRO_DATA_BLOCK,
                    {HeaderKey.SCHEMA: json.dumps(STAT)},
                    avro_content([b"\x00"]),
                ),
                id="schema-of-other-records",
            ),
            pytest.param(
                write_block(
                    LogBlockType.AVRO_DATA_BLOCK,
                    {HeaderKey.SCHEMA: json.dumps(ENTRY)},
                    struct.pack(">iii", 3, 2, 5),
                ),
                id="records-cut-off",
            ),
            pytest.param(
                write_block(
                    LogBlockType.AVRO_DATA_BLOCK,
                    {HeaderKey.SCHEMA: json.dumps(ENTRY)},
                    struct.pack(">iii", 3, 0, 5),
                ),
                id="more-records-than-the-count",
            ),
            pytest.param(archive_block(entry("001", "unheard-of")), id="unknown-action"),
            pytest.param(archive_block(entry(None, "commit")), id="no-time"),
        ],
    )
    def test_undecodable_file_is_refused(self, content):
        with pytest.raises(CorruptTimelineError, match=r"archived/\.commits_\.archive\.7_1-0-1: "):
            load_archive(archive(_7=content), 1, [ARCHIVED])

    def test_half_merged_file_is_ignored(self):
        storage = archive(_1=archive_block(entry("001", "commit")), _2=b"PAR1 PAR1")
        schema = {
            "type": "record",
            "name": "HoodieMergeArchiveFilePlan",
            "fields": [{"name": "mergedArchiveFileName", "type": ["null", "string"]}],
        }
        plan = io.BytesIO()
        merged = ".commits_.archive.2_1-0-1"
        fastavro.writer(plan, schema, [{"mergedArchiveFileName": merged}])
        storage.files[f"{ARCHIVED}/mergeArchivePlan"] = plan.getvalue()
        assert times(load_archive(storage, 1, [ARCHIVED])) == [("001", "commit")]

    @pytest.mark.parametrize("plan", [b"", b"half a plan"])
    def test_unreadable_merge_plan_excuses_nothing(self, plan):
        storage = archive(_2=b"PAR1 PAR1")
        storage.files[f"{ARCHIVED}/mergeArchivePlan"] = plan
        with pytest.raises(CorruptTimelineError, match="expected magic"):
            load_archive(storage, 1, [ARCHIVED])

    def test_commits_are_read_on_demand(self):
        stats = {"partitionToWriteStats": {"p": [{"fileId": "f-0"}]}}
        replaced = {"partitionToWriteStats": {}, "partitionToReplaceFileIds": {"p": ["f-0"]}}
        storage = archive(
            _1=archive_block(
                entry("001", "deltacommit", hoodieCommitMetadata=stats),
                entry("002", "replacecommit", hoodieReplaceCommitMetadata=replaced),
            ),
            _2=archive_block(entry("003", "commit")),
        )
        instants = load_archive(storage, 1, [ARCHIVED])
        empty, second, first = commits_of(storage, instants[::-1])
        assert [stat.file_id for stat in first.write_stats["p"]] == ["f-0"]
        assert second.replaced_file_ids == {"p": ("f-0",)}
        assert empty.write_stats == {}


def history_file(*rows):
    columns = ("instantTime", "completionTime", "action", "metadata", "plan")
    types = (pa.string(), pa.string(), pa.string(), pa.binary(), pa.binary())
    arrays = [pa.array(values, t) for values, t in zip(zip(*rows, strict=True), types, strict=True)]
    body = io.BytesIO()
    pq.write_table(pa.table(dict(zip(columns, arrays, strict=True))), body)
    return body.getvalue()


def manifest(*names):
    files = [{"fileName": name, "fileLen": 1} for name in names]
    return json.dumps({"files": files, "later": "ignored"}).encode()


COMMIT_BODY = b'{"partitionToWriteStats": {"p": [{"fileId": "f-0"}]}}'
NEWER = history_file(
    ("003", "005", "clean", b"", b""), ("002", "004", "deltacommit", COMMIT_BODY, b"")
)
OLDER = history_file(("001", "002", "commit", COMMIT_BODY, None))


def history(version=b"2", **replaced):
    files = {
        "_version_": version,
        "manifest_1": manifest("old.parquet"),
        "manifest_2": manifest("newer.parquet", "older.parquet"),
        "manifest_9.tmp": b"half",
        "newer.parquet": NEWER,
        "older.parquet": OLDER,
        "garbage.parquet": b"not named by the manifest",
    }
    files.update({name.replace("_parquet", ".parquet"): body for name, body in replaced.items()})
    return MemoryStorage({f"{HISTORY}/{n}": b for n, b in files.items() if b is not None})


class TestHistory:
    def test_instants_of_the_current_manifest_are_sorted(self):
        archived = load_archive(history(), 2, [HISTORY])
        assert [(i.requested_time, i.completion_time, i.action) for i in archived] == [
            ("001", "002", "commit"),
            ("002", "004", "deltacommit"),
            ("003", "005", "clean"),
        ]
        assert archived[0].file_name(2) == "001_002.commit"

    @pytest.mark.parametrize("version", [b"2", b"2\n", b"", b"two", None])
    def test_largest_manifest_counts_where_the_version_is_unreadable(self, version):
        assert len(load_archive(history(version), 2, [HISTORY])) == 3

    def test_manifests_are_compared_as_numbers(self):
        storage = history(None, manifest_10=manifest("older.parquet"))
        assert times(load_archive(storage, 2, [HISTORY])) == [("001", "commit")]

    @pytest.mark.parametrize("files", [{}, {f"{HISTORY}/garbage.parquet": b""}])
    def test_history_without_manifest_is_empty(self, files):
        assert load_archive(MemoryStorage(files), 2, [HISTORY]) == ()

    def test_undecodable_metadata_does_not_matter_until_it_is_asked_for(self):
        storage = history(older_parquet=history_file(("001", "002", "commit", b"?", b"?")))
        archived = load_archive(storage, 2, [HISTORY])
        assert len(archived) == 3
        with pytest.raises(CorruptTimelineError, match=r"older\.parquet: ValueError"):
            commits_of(storage, archived[:1])

    def test_commits_are_read_on_demand(self):
        storage = history()
        first, second, _ = load_archive(storage, 2, [HISTORY])
        found = commits_of(storage, [second, first, second])
        assert [[s.file_id for _, s in commit.all_stats()] for commit in found] == [["f-0"]] * 3

    def test_instant_that_left_its_file_is_refused(self):
        archived = load_archive(history(), 2, [HISTORY])
        rewritten = history(older_parquet=NEWER)
        with pytest.raises(CorruptTimelineError, match="commit 001 is no longer in this file"):
            commits_of(rewritten, archived[:1])

    @pytest.mark.parametrize(
        ("replaced", "problem"),
        [
            pytest.param({"manifest_2": None}, "manifest_2: _version_ names", id="no-manifest"),
            pytest.param({"manifest_2": b"{"}, "manifest_2: JSONDecodeError", id="manifest-cut"),
            pytest.param({"manifest_2": b'{"files": [{}]}'}, "fileName: ", id="manifest-shape"),
            pytest.param({"older_parquet": None}, "manifest names this file, but", id="file-gone"),
            pytest.param(
                {"older_parquet": b"PAR1"}, "older.parquet: ArrowInvalid", id="no-parquet"
            ),
            pytest.param({"older_parquet": OLDER[:-9]}, "older.parquet: Arrow", id="parquet-cut"),
            pytest.param(
                {"older_parquet": history_file(("001", "002", "unheard-of", b"", b""))},
                "'unheard-of' is not a valid Action",
                id="unknown-action",
            ),
            pytest.param(
                {"older_parquet": history_file((None, "002", "commit", b"", b""))},
                "a commit without a requested time",
                id="no-time",
            ),
        ],
    )
    def test_unreadable_history_is_refused(self, replaced, problem):
        with pytest.raises(CorruptTimelineError, match=problem):
            load_archive(history(**replaced), 2, [HISTORY])

    def test_history_file_of_other_columns_is_refused(self):
        body = io.BytesIO()
        pq.write_table(pa.table({"instantTime": ["001"]}), body)
        with pytest.raises(
            CorruptTimelineError, match=r"older\.parquet: .*(completionTime|action)"
        ):
            load_archive(history(older_parquet=body.getvalue()), 2, [HISTORY])


GOLDEN_CASES = [("v6_cow_archived", 1), ("v9_mor_archived", 2)]


def commits_of_the_writer(case, layout):
    """What the golden table's script saw: every commit, and the times of the active ones."""
    notes = load_case(GOLDEN / case).facts
    (every,) = (n.partition(": ")[2] for n in notes["notes"] if n.startswith("every commit"))
    commits = {}  # (requested time, action) to completion time
    for name in every.split(", "):
        time, _, rest = name.partition("_")
        completion_time, _, action = rest.partition(".")
        commits[time, action] = completion_time if layout == 2 else None
    return commits, {name.partition("_")[0] for name in notes["timeline"]}


@pytest.mark.parametrize(("case", "layout"), GOLDEN_CASES)
def test_archive_and_timeline_together_have_every_commit(golden_table, case, layout):
    commits, active_times = commits_of_the_writer(case, layout)
    storage = ArrowStorage.parse(str(golden_table(case)))
    archived = load_archive(storage, layout, [HISTORY if layout == 2 else ARCHIVED])
    found = {(i.requested_time, i.action): i.completion_time for i in archived}
    expected = {key: done for key, done in commits.items() if key[0] not in active_times}
    assert {key: done for key, done in found.items() if key[1] != "clean"} == expected
    assert expected


@pytest.mark.parametrize(("case", "layout"), GOLDEN_CASES)
def test_archived_commits_tell_what_they_wrote(golden_table, case, layout):
    storage = ArrowStorage.parse(str(golden_table(case)))
    archived = load_archive(storage, layout, [HISTORY if layout == 2 else ARCHIVED])
    instants = [i for i in archived if i.action != "clean"]
    for instant, commit in zip(instants, commits_of(storage, instants), strict=True):
        stats = list(commit.all_stats())
        assert sorted(partition for partition, _ in stats) == ["amer", "apac", "emea"]
        assert all(instant.requested_time in stat.path or stat.log_files for _, stat in stats)
        assert commit.schema_text is not None


@pytest.mark.parametrize("case", ["v2_mor_archived", "v6_cow_archived", "v9_mor_archived"])
def test_archived_instant_with_the_metadata_of_another_kind_is_refused(case):
    """Commits are decoded as cleans here, and rollbacks and cleans as commits."""
    view = open_table(MemoryStorage(files_of(case)))
    by_action: dict[Action, list[ArchivedInstant]] = {}
    for instant in view.history.archived:
        by_action.setdefault(instant.action, []).append(instant)
    assert len(by_action) > 1
    for action, instants in by_action.items():
        is_commit = action in COMMIT_ACTIONS
        decode: Any = clean_metadata_of if is_commit else commit_metadata_of
        with pytest.raises(CorruptTimelineError, match=r"which has .*, found a record of"):
            load_archived_metadata(view.storage, instants, decode)
