"""Where the changes of a commit come from, and what they read as."""

import io
import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import (
    CorruptLogBlockError,
    CorruptTableError,
    IncrementalRangeError,
    InvalidInstantError,
    MissingFileError,
    UnsupportedTableError,
)
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlockType
from hudi_pyspark.options.option import HollowCommits, OnMissing
from hudi_pyspark.options.read_options import IncrementalOptions, ReadOptions
from hudi_pyspark.planning.changes import changes_schema, check_changes, plan_changes
from hudi_pyspark.planning.commit_range import RequestedRange
from hudi_pyspark.reading import read_task
from hudi_pyspark.reading.changes import read_changes
from hudi_pyspark.reading.read_slice import slice_tables
from hudi_pyspark.scan import choose_scan
from hudi_pyspark.table.cdc_format import CdcFormat
from hudi_pyspark.table.merge_mode import PayloadMerger
from hudi_pyspark.tasks import ChangeSource
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.format.log.native_writer import native_parquet
from tests.reading.log_records.log_files import (
    avro_record,
    data_block,
    delete_block,
    nullable,
    wrapped,
)
from tests.table.archive_files import archive
from tests.table.tiny_table import TinyTable, base, log, paths_of

SCHEMA = pa.schema([("_hoodie_record_key", pa.string()), ("id", pa.string())])
MODES = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")


def cdc_table(table_type="MERGE_ON_READ", version=9, mode="DATA_BEFORE_AFTER", **more):
    properties = {
        "table__cdc__enabled": "true",
        "table__cdc__supplemental__logging__mode": mode,
        "table__recordkey__fields": "id",
        "table__ordering__fields": "ts",
    }
    return TinyTable(version, table_type, **properties, **more)


def stat(path, file_id="f", **more):
    """What a commit says of one file: by default a fresh one of a row."""
    is_log = path.rpartition("/")[2].startswith(".")
    counts = {} if is_log else {"numWrites": 1, "numInserts": 1}
    return {"path": path, "fileId": file_id, "fileSizeInBytes": 1, **counts, **more}


def updating(path, **more):
    """A base file with an updated row, and what changed in CDC log files."""
    return stat(path, numUpdateWrites=1, numInserts=0, **more)


def commit(table, time, operation, *stats, action="", replaces=None, schema="", by_id=""):
    """A completed write; its data files must be added where they are read."""
    by_partition: dict[str, list[dict[str, Any]]] = {}
    for one in stats:
        by_partition.setdefault(one["path"].rpartition("/")[0], []).append(one)
    kind = action or ("replacecommit" if replaces else "commit")
    end = f"{int(time) + 5:03}"
    name = f"{time}_{end}.{kind}" if table.layout == 2 else f"{time}.{kind}"
    body = {
        "partitionToWriteStats": by_partition,
        "partitionToReplaceFileIds": replaces or {},
        "operationType": operation,
        "extraMetadata": {**({"schema": schema} if schema else {}), "latest_schema": by_id},
    }
    table.instant(name, body)
    files = [one["path"] for one in stats] + [p for one in stats for p in one.get("cdcStats", {})]
    return table.data(*(path for path in files if path not in table.files))


def by_id(version=10, **ids):
    """An internal schema of columns by name, from an instant on."""
    fields = [{"id": number, "name": name, "type": "string"} for name, number in ids.items()]
    return json.dumps({"version_id": version, "type": "record", "fields": fields})


def cdc_log(file_id, time):
    return f"{log(file_id, time)}.cdc"


def planned(table, begin="000", end="", **more):
    """The change tasks of a range, with slices for scan tasks."""
    view = table.open()
    options = IncrementalOptions(begin=begin, end=end, cdc=True, **more)
    requested = RequestedRange(
        view, options, options.by_offset and view.config.has_completion_times
    )
    check_changes(requested)
    return plan_changes(requested, SCHEMA, fake_scan_tasks)


def fake_scan_tasks(slices, until) -> Any:
    """What a scan task would be made of."""
    return [SimpleNamespace(file_slice=s, until=until) for s in slices]


def sources(tasks):
    return [(task.source.name, task.instant) for task in tasks]


def files(scan_task):
    return None if scan_task is None else paths_of(scan_task.file_slice)


def one_task(table, *args, **more):
    (task,) = planned(table, *args, **more)
    return task


class TestChangeSources:
    def test_a_base_file_of_inserts_is_read_as_it_is(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        task = one_task(table)
        assert (task.source, task.instant) == (ChangeSource.BASE_FILE_INSERT, "010")
        assert (task.before, files(task.after), task.cdc_files) == (None, [base("f", "010")], ())

    @pytest.mark.parametrize("operation", ["DELETE", "DELETE_PREPPED"])
    def test_a_delete_that_leaves_no_row_reads_the_base_file_before(self, operation):
        table = commit(cdc_table("COPY_ON_WRITE"), "010", "INSERT", stat(base("f", "010")))
        emptied = stat(base("f", "020"), numWrites=0, numInserts=0, numDeletes=2)
        task = one_task(commit(table, "020", operation, emptied), "010")
        assert (task.source, task.after) == (ChangeSource.BASE_FILE_DELETE, None)
        assert (files(task.before), task.before.until) == ([base("f", "010")], "010")

    @pytest.mark.parametrize("operation", ["UPSERT", "UPSERT_PREPPED", "INSERT"])
    def test_a_write_that_leaves_no_row_reads_the_base_file_before(self, operation):
        table = commit(cdc_table("COPY_ON_WRITE"), "010", "INSERT", stat(base("f", "010")))
        emptied = stat(base("f", "020"), numWrites=0, numInserts=0, numDeletes=2, prevCommit="010")
        task = one_task(commit(table, "020", operation, emptied), "010")
        assert (task.source, task.after) == (ChangeSource.BASE_FILE_DELETE, None)
        assert (files(task.before), task.before.until) == ([base("f", "010")], "010")

    def test_a_new_file_without_rows_deletes_nothing(self):
        empty = stat(base("f", "010"), numWrites=0, numInserts=0, numDeletes=1, prevCommit="null")
        task = one_task(commit(cdc_table("COPY_ON_WRITE"), "010", "UPSERT", empty))
        assert (task.source, task.before) == (ChangeSource.BASE_FILE_INSERT, None)

    def test_a_log_file_is_compared_with_the_slice_below_it(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        table = commit(table, "020", "UPSERT", stat(log("f", "020")), action="deltacommit")
        table = commit(table, "030", "UPSERT", stat(log("f", "030")), action="deltacommit")
        task = one_task(table, "020")
        assert task.source is ChangeSource.LOG_FILE
        assert (files(task.before), task.before.until) == (
            [base("f", "010"), log("f", "020")],
            "020",
        )
        assert (files(task.after), task.after.until) == ([log("f", "030")], "030")

    def test_the_first_log_file_of_a_group_has_nothing_below_it(self):
        table = commit(cdc_table(), "010", "UPSERT", stat(log("f", "010")), action="deltacommit")
        assert one_task(table).before is None

    @pytest.mark.parametrize(
        ("mode", "has_before", "has_after"),
        [("OP_KEY_ONLY", True, True), ("DATA_BEFORE", False, True), (MODES[2], False, False)],
    )
    def test_a_cdc_log_reads_the_files_whose_images_it_leaves_out(
        self, mode, has_before, has_after
    ):
        table = commit(
            cdc_table("COPY_ON_WRITE", mode=mode), "010", "INSERT", stat(base("f", "010"))
        )
        changed = {cdc_log("f", "020"): 7}
        table = commit(table, "020", "UPSERT", updating(base("f", "020"), cdcStats=changed))
        task = one_task(table, "010")
        assert task.source is ChangeSource.CDC_LOG
        assert {file.path: file.committed_size for file in task.cdc_files} == changed
        assert files(task.before) == ([base("f", "010")] if has_before else None)
        assert files(task.after) == ([base("f", "020")] if has_after else None)

    def test_replaced_groups_are_deletes_of_their_latest_slice(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        table = commit(table, "020", "UPSERT", stat(log("f", "020")), action="deltacommit")
        fresh = stat(base("g", "030"), "g")
        table = commit(table, "030", "INSERT_OVERWRITE", fresh, replaces={"": ["f"]})
        tasks = planned(table, "020")
        assert sources(tasks) == [("BASE_FILE_INSERT", "030"), ("REPLACED", "030")]
        assert files(tasks[1].before) == [base("f", "010"), log("f", "020")]

    def test_a_dropped_partition_has_deletes_only(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        table = commit(table, "020", "DELETE_PARTITION", replaces={"": ["f"]})
        assert sources(planned(table, "010")) == [("REPLACED", "020")]

    @pytest.mark.parametrize("operation", ["COMPACT", "CLUSTER", "LOG_COMPACT", "INDEX"])
    def test_table_services_change_nothing(self, operation):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        replaces = {"": ["f"]} if operation == "CLUSTER" else None
        table = commit(table, "020", operation, updating(base("f", "020")), replaces=replaces)
        assert sources(planned(table)) == [("BASE_FILE_INSERT", "010")]

    def test_updates_without_a_cdc_log_are_corrupt(self):
        table = commit(cdc_table(), "010", "UPSERT", updating(base("f", "010")))
        with pytest.raises(
            CorruptTableError, match=r"commit 010 updated or deleted rows in .* a CDC log"
        ):
            planned(table)

    def test_deletes_beside_rows_of_an_upsert_without_a_cdc_log_are_corrupt(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        rewritten = stat(base("f", "020"), prevCommit="010", numDeletes=2)
        table = commit(table, "020", "UPSERT", rewritten)
        with pytest.raises(CorruptTableError, match="commit 020 updated or deleted rows"):
            planned(table, "010")

    def test_deletes_among_the_inserts_of_a_new_file_change_nothing(self):
        fresh = stat(base("f", "010"), numDeletes=2, prevCommit="null")
        assert sources(planned(commit(cdc_table(), "010", "UPSERT", fresh))) == [
            ("BASE_FILE_INSERT", "010")
        ]

    @pytest.mark.parametrize(
        "nothing", [{"fileId": "g"}, {"fileId": "g", "path": ""}, {"path": "g"}]
    )
    def test_a_write_without_file_changes_nothing(self, nothing):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        stats = {"": [nothing, stat(base("f", "020"))]}
        body = {"partitionToWriteStats": stats, "operationType": "INSERT"}
        table.instant("020_025.commit", body).data(base("f", "020"))
        assert files(one_task(table, "010").after) == [base("f", "020")]

    def test_a_replaced_group_that_never_had_files_changes_nothing(self):
        table = commit(cdc_table(), "010", "INSERT", stat(base("f", "010")))
        table = commit(table, "020", "DELETE_PARTITION", replaces={"": ["g"]})
        assert planned(table, "010") == []

    def test_an_operation_of_a_later_release_is_not_passed_over(self):
        table = commit(cdc_table(), "010", "MAGIC", stat(base("f", "010")))
        with pytest.raises(UnsupportedTableError, match="010 does not record its operation"):
            planned(table)
        assert planned(commit(cdc_table(), "010", "MAGIC")) == []

    def test_a_glob_keeps_the_changes_of_matching_files(self):
        table = cdc_table(table__partition__fields="ds")
        one = stat(f"ds=1/{base('f', '010')}")
        two = stat(f"ds=2/{base('g', '010')}", "g")
        table = commit(table, "010", "INSERT", one, two)
        assert files(one_task(table, incremental_path_glob="ds=2/*").after) == [two["path"]]
        assert planned(table, incremental_path_glob="ds=3/*") == []


class TestRange:
    @staticmethod
    def table(version=9):
        table = cdc_table("COPY_ON_WRITE", version)
        for number in (1, 2, 3):
            fresh = stat(base(f"f{number}", f"0{number}0"), f"f{number}")
            commit(table, f"0{number}0", "INSERT", fresh)
        return table

    @pytest.mark.parametrize("version", [6, 9])
    @pytest.mark.parametrize(
        ("begin", "end", "commits"),
        [
            ("000", "", ["010", "020", "030"]),
            ("010", "", ["020", "030"]),
            ("000", "020", ["010", "020"]),
            ("015", "025", ["020"]),
            ("020", "020", []),
            ("9", "", []),
        ],
    )
    def test_requested_times_are_compared_on_every_version(self, version, begin, end, commits):
        assert [t.instant for t in planned(self.table(version), begin, end)] == commits

    def test_offsets_of_streams_are_completion_times(self):
        assert [t.instant for t in planned(self.table(), "010", "025", by_offset=True)] == [
            "010",
            "020",
        ]
        assert [t.instant for t in planned(self.table(6), "010", "025", by_offset=True)] == ["020"]

    def test_a_range_that_ends_before_it_begins_is_refused(self):
        with pytest.raises(InvalidInstantError, match="after its end"):
            planned(self.table(), "020", "010")

    def test_a_table_without_changes_is_refused(self):
        with pytest.raises(
            UnsupportedTableError, match=r"does not log changes \(hoodie\.table\.cdc"
        ):
            planned(TinyTable(9).write("010", "deltacommit"))

    @pytest.mark.parametrize(
        ("table_type", "mode", "is_refused"),
        [
            ("COPY_ON_WRITE", "OP_KEY_ONLY", True),
            ("COPY_ON_WRITE", "DATA_BEFORE_AFTER", False),
            ("MERGE_ON_READ", "DATA_BEFORE_AFTER", True),
        ],
    )
    def test_images_that_are_found_by_key_need_meta_columns(self, table_type, mode, is_refused):
        table = cdc_table(table_type, mode=mode, populate__meta__fields="false")
        if not is_refused:
            assert planned(table) == []
            return
        with pytest.raises(UnsupportedTableError, match="_hoodie_record_key"):
            planned(table)

    def test_a_pending_commit_inside_the_range_is_refused_before_version_8(self):
        table = self.table(6).instant("025.commit.requested").instant("025.inflight")
        with pytest.raises(IncrementalRangeError, match="commit 025 has not completed"):
            planned(table)
        assert [t.instant for t in planned(table, hollow_commits=HollowCommits.BLOCK)] == [
            "010",
            "020",
        ]
        assert len(planned(table, hollow_commits=HollowCommits.USE_TRANSITION_TIME)) == 3

    def test_a_begin_before_the_active_timeline_is_refused(self):
        table = archive(self.table(), ("005", "006", "commit"), ("007", "008", "commit"))
        with pytest.raises(IncrementalRangeError, match="commit 005 is archived") as raised:
            planned(table)
        assert "Begin at 007 or later" in str(raised.value)
        assert len(planned(table, "007")) == 3

    def test_archived_table_services_hide_no_changes(self):
        assert len(planned(archive(self.table(), ("005", "006", "clean")))) == 3

    def test_earliest_begins_behind_the_archived_commits(self):
        table = archive(self.table(), ("005", "006", "commit"))
        with pytest.warns(UserWarning, match="they begin at 005, later than requested"):
            assert len(planned(table, on_missing=OnMissing.EARLIEST)) == 3


class TestMissingFiles:
    @staticmethod
    def table():
        """An insert, an update that only logs keys, and an insert into another group."""
        table = cdc_table("COPY_ON_WRITE", mode="OP_KEY_ONLY")
        commit(table, "010", "INSERT", stat(base("f", "010")))
        changed = updating(base("f", "020"), cdcStats={cdc_log("f", "020"): 1}, prevCommit="010")
        commit(table, "020", "UPSERT", changed)
        return commit(table, "030", "INSERT", stat(base("g", "030"), "g"))

    @pytest.mark.parametrize(
        "lost", [base("f", "010"), base("f", "020"), cdc_log("f", "020")], ids=str
    )
    def test_a_file_that_images_need_is_told_at_plan_time(self, lost):
        with pytest.raises(IncrementalRangeError, match="changes of commit 020") as raised:
            planned(self.table().without(lost), "010")
        assert lost in str(raised.value)
        assert "Begin the range at 020 or later" in str(raised.value)

    def test_the_begin_that_the_error_names_works(self):
        table = self.table().without(base("f", "010"), base("f", "020"))
        assert [t.instant for t in planned(table, "020")] == ["030"]

    @pytest.mark.parametrize("lost", [base("f", "010"), cdc_log("f", "020")], ids=str)
    def test_earliest_begins_behind_the_last_commit_that_cannot_be_told(self, lost):
        with pytest.warns(UserWarning, match="they begin at 020") as warned:
            tasks = planned(self.table().without(lost), on_missing=OnMissing.EARLIEST)
        assert [t.instant for t in tasks] == ["030"]
        assert len(warned) == 1

    def test_the_slice_below_may_come_from_archived_commits(self):
        table = cdc_table().data(base("f", "010"))
        table = commit(table, "030", "UPSERT", stat(log("f", "030")), action="deltacommit")
        task = one_task(archive(table, ("010", "015", "commit")), "010")
        assert (files(task.before), task.before.until) == ([base("f", "010")], "010")

    @pytest.mark.parametrize(
        ("operation", "stats", "replaces"),
        [
            pytest.param("DELETE_PARTITION", (), {"": ["f"]}, id="replaced"),
            pytest.param(
                "DELETE",
                (stat(base("f", "030"), numWrites=0, numInserts=0, numDeletes=2),),
                None,
                id="all-deleted",
            ),
            pytest.param(
                "UPSERT",
                (updating(base("f", "030"), cdcStats={cdc_log("f", "030"): 1}, prevCommit="010"),),
                None,
                id="keys-only",
            ),
        ],
    )
    def test_what_archived_commits_wrote_may_be_cleaned(self, operation, stats, replaces):
        table = cdc_table("COPY_ON_WRITE", mode="OP_KEY_ONLY")
        commit(table, "030", operation, *stats, replaces=replaces)
        with pytest.raises(IncrementalRangeError, match="no file is left of group f"):
            planned(archive(table, ("010", "015", "commit")), "010")


AVRO_COLUMNS = {"id": nullable("string"), "ts": nullable("long"), "v": nullable("string")}
AVRO_TABLE = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": kind} for name, kind in AVRO_COLUMNS.items()],
    }
)
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_partition_path")
LOG_SCHEMA = avro_record(
    **{name: nullable("string") for name in (*META, "_hoodie_file_name")}, **AVRO_COLUMNS
)


def row(key, ts, v, time="010"):
    meta = dict.fromkeys((*META, "_hoodie_file_name"), "") | {"_hoodie_commit_time": time}
    return {**meta, "_hoodie_record_key": key, "id": key, "ts": ts, "v": v}


def parquet(*rows):
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), buffer)
    return buffer.getvalue()


def empty_parquet():
    """A base file all of whose rows were deleted."""
    buffer = io.BytesIO()
    pq.ParquetWriter(buffer, pa.Table.from_pylist([row("a", 1, "a")]).schema).close()
    return buffer.getvalue()


def image(key, ts, v):
    return {"id": key, "ts": ts, "v": v}


def changes(table, begin, **more):
    """Change rows as tuples, with images as values, in order of operation and key."""
    given = {"cdc": "true", "cdc_format": "struct", "begin": begin, **more}
    answer = choose_scan(table.open(), ReadOptions.parse(given), {}).to_arrow()
    rows = [tuple(r.values()) for r in answer.to_pylist()]
    return sorted(rows, key=lambda r: (r[0], (r[2] or r[3])["id"]))


class TestLogFileChanges:
    @pytest.fixture(autouse=True, params=["rows of the log's keys", "all rows"])
    def read_of_the_slice_before(self, request, monkeypatch):
        if request.param == "all rows":
            monkeypatch.setattr(thresholds, "FEW_KEYS", 0)
        return request.param

    @staticmethod
    def table(*blocks, version=9):
        """Rows a, b and c at 100, and blocks of a delta commit on top."""
        table = cdc_table(version=version)
        content = parquet(*(row(key, 100, key) for key in "abc"))
        table.data(base("f", "010"), content=content)
        commit(table, "010", "INSERT", stat(base("f", "010")), schema=AVRO_TABLE)
        name = log("f", "020" if version == 9 else "010")
        table.data(name, content=b"".join(blocks))
        written = stat(name, fileSizeInBytes=len(table.files[name]))
        return commit(table, "020", "UPSERT", written, action="deltacommit", schema=AVRO_TABLE)

    @pytest.mark.parametrize("version", [6, 9])
    def test_inserts_updates_and_deletes_have_their_images(self, version):
        rows = [row("a", 110, "a2", "020"), row("n", 5, "new", "020")]
        deleted = delete_block([("b", wrapped("Long", 120))], instant="020")
        table = self.table(data_block(LOG_SCHEMA, rows, instant="020"), deleted, version=version)
        assert changes(table, "010") == [
            ("d", "020", image("b", 100, "b"), None),
            ("i", "020", None, image("n", 5, "new")),
            ("u", "020", image("a", 100, "a"), image("a", 110, "a2")),
        ]

    def test_a_late_record_changes_nothing(self):
        late = data_block(LOG_SCHEMA, [row("a", 90, "late", "020")], instant="020")
        assert changes(self.table(late), "010") == []

    def test_a_late_delete_changes_nothing(self):
        late = delete_block([("a", wrapped("Long", 90))], instant="020")
        assert changes(self.table(late), "010") == []

    def test_a_delete_of_an_unknown_key_changes_nothing(self):
        unknown = delete_block([("z", wrapped("Long", 120))], instant="020")
        assert changes(self.table(unknown), "010") == []

    def test_a_row_that_is_written_again_as_it_is_changes_nothing(self):
        same = data_block(LOG_SCHEMA, [row("a", 100, "a", "010")], instant="020")
        assert changes(self.table(same), "010") == []

    def test_a_key_that_comes_several_times_changes_once(self):
        rows = [row("a", 110, "a2", "020"), row("a", 130, "a4", "020"), row("a", 120, "a3", "020")]
        table = self.table(data_block(LOG_SCHEMA, rows, instant="020"))
        assert changes(table, "010") == [("u", "020", image("a", 100, "a"), image("a", 130, "a4"))]

    def test_slice_before_is_read_for_the_keys_of_a_few_records(
        self, monkeypatch, read_of_the_slice_before
    ):
        requested_keys = []

        def read_slice(task, *args, **more):
            requested_keys.append(task.shared.record_keys)
            return slice_tables(task, *args, **more)

        monkeypatch.setattr(read_task, "slice_tables", read_slice)
        rows = [row("a", 110, "a2", "020"), row("n", 5, "new", "020"), row("a", 120, "a3", "020")]
        assert len(changes(self.table(data_block(LOG_SCHEMA, rows, instant="020")), "010")) == 2
        is_narrowed = read_of_the_slice_before != "all rows"
        assert requested_keys == [("a", "n") if is_narrowed else None]

    @pytest.mark.parametrize("version", [6, 9])
    def test_rows_before_have_the_log_files_below_a_planned_compaction(self, version):
        """Apache Hudi lost them: apache/hudi#17607."""
        rows = [row("a", 110, "a2", "020")]
        table = self.table(data_block(LOG_SCHEMA, rows, instant="020"), version=version)
        table.plan_compaction("030", ("", "f"))
        name = log("f", "040" if version == 9 else "030")
        rows = [row("a", 120, "a3", "040"), row("b", 120, "b2", "040")]
        table.data(name, content=data_block(LOG_SCHEMA, rows, instant="040"))
        written = stat(name, fileSizeInBytes=len(table.files[name]))
        commit(table, "040", "UPSERT", written, action="deltacommit", schema=AVRO_TABLE)
        assert changes(table, "020") == [
            ("u", "040", image("a", 110, "a2"), image("a", 120, "a3")),
            ("u", "040", image("b", 100, "b"), image("b", 120, "b2")),
        ]

    def test_rows_that_a_merger_gives_other_keys_are_found(self):
        def merge(_older, newer):
            number = newer.schema.names.index("_hoodie_record_key")
            return newer.set_column(number, "_hoodie_record_key", pa.array(["n"] * len(newer)))

        table = self.table(data_block(LOG_SCHEMA, [row("a", 110, "a2", "020")], instant="020"))
        table.files[".hoodie/hoodie.properties"] += (
            b"\nhoodie.compaction.payload.class=com.acme.Moving\nhoodie.record.merge.mode=CUSTOM"
        )
        name = log("f", "030")
        rows = [row("n", 120, "a3", "030")]
        table.data(name, content=data_block(LOG_SCHEMA, rows, instant="030"))
        written = stat(name, fileSizeInBytes=len(table.files[name]))
        commit(table, "030", "UPSERT", written, action="deltacommit", schema=AVRO_TABLE)
        given = {"cdc": "true", "cdc_format": "struct", "begin": "020"}
        mergers = {"com.acme.Moving": PayloadMerger(merge, None)}
        answer = choose_scan(table.open(), ReadOptions.parse(given), mergers).to_arrow()
        change = {"before": image("a", 110, "a2"), "after": image("n", 120, "a3")}
        assert answer.to_pylist() == [{"op": "u", "ts_ms": "030", **change}]

    def test_images_are_json_texts_unless_told(self):
        table = self.table(data_block(LOG_SCHEMA, [row("n", 5, None, "020")], instant="020"))
        answer = choose_scan(table.open(), ReadOptions.parse({"cdc": "true", "begin": "010"}), {})
        assert answer.schema.names == ["op", "ts_ms", "before", "after"]
        assert answer.to_arrow().to_pylist() == [
            {"op": "i", "ts_ms": "020", "before": None, "after": '{"id":"n","ts":5,"v":null}'}
        ]


CDC_FIELDS = {
    "OP_KEY_ONLY": ("op", "record_key"),
    "DATA_BEFORE": ("op", "record_key", "before"),
    "DATA_BEFORE_AFTER": ("op", "ts_ms", "before", "after"),
}
CDC_RECORDS = (
    {
        "op": "u",
        "record_key": "a",
        "before": image("a", 100, "a"),
        "after": image("a", 110, "a2"),
    },
    {"op": "i", "record_key": "n", "before": None, "after": image("n", 5, "new")},
    {"op": "d", "record_key": "b", "before": image("b", 100, "b"), "after": None},
)


class TestCdcLogChanges:
    @staticmethod
    def block(mode, records=CDC_RECORDS):
        text = nullable("string")
        kind = {"type": "record", "name": "i", "fields": json.loads(AVRO_TABLE)["fields"]}
        types = {"op": text, "ts_ms": text, "record_key": text, "before": nullable(kind)}
        types["after"] = nullable("i" if "before" in CDC_FIELDS[mode] else kind)
        fields = [{"name": n, "type": types[n]} for n in CDC_FIELDS[mode]]
        schema = {"type": "record", "name": "c", "fields": fields}
        encoded = avro_records(schema, [{"ts_ms": "020", **record} for record in records])
        header: dict[HeaderKey | int, str] = {
            HeaderKey.INSTANT_TIME: "020",
            HeaderKey.SCHEMA: json.dumps(schema),
        }
        return write_block(LogBlockType.CDC_DATA_BLOCK, header, avro_content(encoded))

    @staticmethod
    def table(mode, content, after=None, by_id="", folder="", **properties):
        """Rows a and b; then a is updated, n inserted, and b deleted."""
        table = cdc_table("COPY_ON_WRITE", mode=mode, **properties)
        old, new, changed = (
            f"{folder}{path}" for path in (base("f", "010"), base("f", "020"), cdc_log("f", "020"))
        )
        table.data(old, content=parquet(row("a", 100, "a"), row("b", 100, "b")))
        commit(table, "010", "INSERT", stat(old), schema=AVRO_TABLE, by_id=by_id)
        after = after or parquet(row("a", 110, "a2", "020"), row("n", 5, "new", "020"))
        table.data(new, content=after)
        table.data(changed, content=content)
        update = updating(new, cdcStats={changed: len(content)}, prevCommit="010")
        return commit(table, "020", "UPSERT", update, schema=AVRO_TABLE, by_id=by_id)

    @pytest.mark.parametrize("mode", MODES)
    def test_all_modes_give_the_same_changes(self, mode):
        assert changes(self.table(mode, self.block(mode)), "010") == [
            ("d", "020", image("b", 100, "b"), None),
            ("i", "020", None, image("n", 5, "new")),
            ("u", "020", image("a", 100, "a"), image("a", 110, "a2")),
        ]

    @pytest.mark.parametrize("mode", MODES)
    def test_images_are_matched_by_id(self, mode):
        """After the commit v was renamed to w, and another column was called v."""
        table = self.table(mode, self.block(mode), by_id=by_id(id=0, ts=1, v=2))
        schema = AVRO_TABLE.replace('"name": "v"', '"name": "w"')
        added = json.loads(schema)
        added["fields"].append({"name": "v", "type": ["null", "string"], "default": None})
        renamed = by_id(30, id=0, ts=1, w=2, v=3)
        commit(table, "030", "ALTER_SCHEMA", schema=json.dumps(added), by_id=renamed)

        def now(key, ts, w):
            return {"id": key, "ts": ts, "w": w, "v": None}

        assert changes(table, "010") == [
            ("d", "020", now("b", 100, "b"), None),
            ("i", "020", None, now("n", 5, "new")),
            ("u", "020", now("a", 100, "a"), now("a", 110, "a2")),
        ]
        without = changes(table, "010", schema_on_read="false")
        assert without[1] == ("i", "020", None, {"id": "n", "ts": 5, "w": None, "v": "new"})

    @pytest.mark.parametrize("mode", MODES)
    def test_images_have_the_partition_values_of_paths_if_files_lack_them(self, mode):
        """The second base file has the column, with nulls: a merge has added it."""
        dropped = {
            "table__partition__fields": "p",
            "datasource__write__drop__partition__columns": "true",
        }
        rows = [{**row("a", 110, "a2", "020"), "p": None}, {**row("n", 5, "new", "020"), "p": None}]
        after = parquet(*rows)
        table = self.table(mode, self.block(mode), after, folder="x/", **dropped)
        assert changes(table, "010") == [
            ("d", "020", {**image("b", 100, "b"), "p": "x"}, None),
            ("i", "020", None, {**image("n", 5, "new"), "p": "x"}),
            ("u", "020", {**image("a", 100, "a"), "p": "x"}, {**image("a", 110, "a2"), "p": "x"}),
        ]
        commit(table, "030", "DELETE_PARTITION", replaces={"x": ["f"]}, schema=AVRO_TABLE)
        gone = [(before["id"], before["p"]) for _, _, before, _ in changes(table, "020")]
        assert gone == [("a", "x"), ("n", "x")]

    def test_local_times_of_a_log_in_parquet_have_the_unit_of_the_file(self):
        """The table's unit was another one; only in Avro may a file be mislabelled."""
        micros = 1_700_000_000_123_456
        column = pa.array([micros], pa.timestamp("us"))
        image = pa.StructArray.from_arrays([pa.array(["a"]), column], ["id", "t"])
        log = pa.table({"op": ["i"], "ts_ms": ["020"], "after": image})
        log = log.append_column("before", pa.nulls(1, image.type))
        types = {"id": "string", "t": {"type": "long", "logicalType": "local-timestamp-millis"}}
        fields = [{"name": name, "type": nullable(kind)} for name, kind in types.items()]
        schema = json.dumps({"type": "record", "name": "r", "fields": fields})
        in_log = {"op": "string", "ts_ms": "string", "before": json.loads(schema), "after": "r"}
        fields = [{"name": name, "type": nullable(kind)} for name, kind in in_log.items()]
        log_schema = json.dumps({"type": "record", "name": "c", "fields": fields})
        path = "f_0-1-0_020_1.cdc.parquet"
        content = native_parquet(log, {"SCHEMA": log_schema})
        table = cdc_table("COPY_ON_WRITE", version=10)
        update = updating(base("f", "020"), cdcStats={path: len(content)}, prevCommit="010")
        commit(table, "010", "INSERT", stat(base("f", "010")), schema=schema)
        commit(table, "020", "UPSERT", update, schema=schema)
        table.data(path, content=content)
        given = {"cdc": "true", "cdc_format": "struct", "begin": "010"}
        answer = choose_scan(table.open(), ReadOptions.parse(given), {}).to_arrow()
        after = answer.column("after").combine_chunks()
        assert after.field("t").cast(pa.int64()).to_pylist() == [micros]

    @pytest.mark.parametrize("mode", MODES[:2])
    def test_all_rows_of_a_base_file_may_be_deleted(self, mode):
        gone = [{"op": "d", "record_key": k, "before": image(k, 100, k)} for k in "ab"]
        assert changes(self.table(mode, self.block(mode, gone), empty_parquet()), "010") == [
            ("d", "020", image("a", 100, "a"), None),
            ("d", "020", image("b", 100, "b"), None),
        ]

    def test_several_blocks_are_read_one_after_another(self):
        content = self.block(MODES[2], CDC_RECORDS[:1]) + self.block(MODES[2], CDC_RECORDS[1:])
        assert len(changes(self.table(MODES[2], content), "010")) == 3

    def test_a_key_without_a_row_is_an_error(self):
        records = ({"op": "u", "record_key": "lost"},)
        table = self.table("OP_KEY_ONLY", self.block("OP_KEY_ONLY", records))
        with pytest.raises(CorruptTableError, match="change for record key 'lost'"):
            changes(table, "010")

    def test_a_corrupt_block_is_an_error(self):
        content = self.block(MODES[2])
        torn = content[: len(content) // 2] + self.block(MODES[2])
        with pytest.raises(CorruptLogBlockError, match="at byte 0: a corrupt block"):
            changes(self.table(MODES[2], torn), "010")

    def test_what_is_left_of_a_damaged_file_is_read_where_that_is_asked_for(self, caplog):
        content = self.block(MODES[2])
        torn = self.table(MODES[2], content[: len(content) // 2] + content)
        assert changes(torn, "010", on_damage="warn") == changes(
            self.table(MODES[2], content), "010"
        )
        assert "at byte 0: a corrupt block" in caplog.text

    def test_a_shortened_file_is_an_error(self):
        table = self.table(MODES[2], self.block(MODES[2]) * 2)
        table.files[cdc_log("f", "020")] = self.block(MODES[2])
        with pytest.raises(CorruptLogBlockError, match="but its commit says"):
            changes(table, "010")

    def test_a_file_that_vanishes_after_planning_is_told(self):
        table = self.table(MODES[2], self.block(MODES[2]))
        (task,) = planned(table, "010")
        storage = table.without(cdc_log("f", "020")).open().storage
        with pytest.raises(MissingFileError, match="is not on the storage any more"):
            list(read_changes(task, storage, partial(slice_tables, storage=storage)))


def test_changelog_of_an_instant_that_is_no_time_has_no_timestamp():
    options = ReadOptions.parse({"cdc": "true", "cdc_format": "changelog", "begin": "000"})
    rows = choose_scan(TestLogFileChanges.table().open(), options, {}).to_arrow().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in rows] == [(key, "insert") for key in "abc"]
    assert {(row["_commit_version"], row["_commit_timestamp"]) for row in rows} == {(10, None)}


INSERT = {"op": "i", "ts_ms": "010", "before": None}
TO_CHANGELOG = {"_change_type": "insert", "_commit_version": 10, "_commit_timestamp": None}
IN_FORMAT = {  # the insert of a row
    CdcFormat.JSON: {**INSERT, "after": '{"id":"a","ts":100,"v":"a"}'},
    CdcFormat.STRUCT: {**INSERT, "after": image("a", 100, "a")},
    CdcFormat.CHANGELOG: {**image("a", 100, "a"), **TO_CHANGELOG},
}


@pytest.mark.parametrize("cdc_format", CdcFormat)
def test_each_format_shows_a_change_in_its_own_columns(cdc_format):
    options = ReadOptions.parse({"cdc": "true", "cdc_format": cdc_format, "begin": "000"})
    scan = choose_scan(TestLogFileChanges.table().open(), options, {})
    assert scan.schema.names == [*IN_FORMAT[cdc_format]]
    assert IN_FORMAT[cdc_format] in scan.to_arrow().to_pylist()


def test_column_with_a_name_of_changelogs_is_refused_in_this_form_only():
    schema = pa.schema({"id": pa.string(), "_commit_version": pa.int64()})
    with pytest.raises(UnsupportedTableError, match=r"a column _commit_version.*cdc_format=struct"):
        changes_schema(schema, CdcFormat.CHANGELOG)
    assert changes_schema(schema, CdcFormat.STRUCT).names == ["op", "ts_ms", "before", "after"]


def test_skipping_table_services_has_no_effect_on_changes_and_says_so():
    with pytest.warns(UserWarning, match=r"^skip_compaction .* has no effect on a CDC query"):
        ReadOptions.parse({"cdc": "true", "begin": "000", "skip_compaction": "true"})
