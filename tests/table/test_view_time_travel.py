import io

import fastavro
import pytest

from hudi_pyspark.errors import MissingFileError, TimeTravelError
from tests.table.tiny_table import TinyTable, archive, base, log, shape

LAYOUTS = pytest.mark.parametrize("version", [6, 9], ids=["layout-1", "layout-2"])
F010, F030 = base("f", "010"), base("f", "030")


def clean(earliest):
    return {"earliestCommitToRetain": earliest, "partitionMetadata": {}}


def check(table, as_of):
    table.open().history.check_as_of(as_of)


def travelling(version):
    return TinyTable(version).write("010", "commit", F010).write("030", "commit", F030)


@LAYOUTS
@pytest.mark.parametrize("as_of", ["001", "010", "020", "030", "999"])
def test_every_time_is_allowed_on_a_table_that_was_never_cleaned(version, as_of):
    check(travelling(version), as_of)


@LAYOUTS
@pytest.mark.parametrize(
    "pending",
    [
        "020.inflight",
        "020.commit.requested",
        "020.deltacommit.inflight",
        "020.replacecommit.inflight",
    ],
)
def test_time_at_or_after_an_incomplete_commit_is_refused(version, pending):
    view = travelling(version).instant(pending).open()
    view.history.check_as_of("019")
    for as_of in ("020", "030"):
        with pytest.raises(TimeTravelError, match=f"as.of.instant {as_of} is not before 020"):
            view.history.check_as_of(as_of)


@LAYOUTS
@pytest.mark.parametrize(
    "pending",
    [
        "020.compaction.inflight",
        "020.logcompaction.requested",
        "020.clean.inflight",
        "020.rollback.inflight",
        "020.indexing.requested",
    ],
)
def test_other_incomplete_actions_refuse_nothing(version, pending):
    check(travelling(version).instant(pending), "030")


def test_incomplete_clustering_refuses_nothing():
    view = travelling(9).instant("020.clustering.requested").instant("020.clustering.inflight")
    check(view, "030")


def replace_plan(operation):
    fields = [{"name": "operationType", "type": ["null", "string"]}]
    schema = {"type": "record", "name": "HoodieRequestedReplaceMetadata", "fields": fields}
    body = io.BytesIO()
    fastavro.writer(body, schema, [{"operationType": operation}])
    return body.getvalue()


@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_incomplete_clustering_of_layout_1_refuses_nothing(state):
    table = travelling(6).instant("020.replacecommit.requested", replace_plan("CLUSTER"))
    table.instant(f"020.replacecommit.{state}", table.files[".hoodie/020.replacecommit.requested"])
    check(table, "030")


@pytest.mark.parametrize("plan", [b"", replace_plan("INSERT_OVERWRITE"), replace_plan(None)])
def test_incomplete_overwrite_of_layout_1_refuses_later_times(plan):
    table = travelling(6).instant("020.replacecommit.requested", plan)
    with pytest.raises(TimeTravelError, match="is not before 020, a replacecommit"):
        check(table, "030")


def test_incomplete_commit_behind_an_incomplete_clustering_refuses_times_after_it():
    view = travelling(9).instant("015.clustering.inflight").instant("020.inflight").open()
    view.history.check_as_of("019")
    with pytest.raises(TimeTravelError, match="is not before 020"):
        view.history.check_as_of("020")


def test_copy_on_write_table_ignores_an_incomplete_delta_commit():
    table = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", F010)
    check(table.instant("020.deltacommit.inflight"), "030")


def cleaned(version, *earliest):
    table = travelling(version)
    for number, retained in enumerate(earliest):
        name = f"04{number}" if version == 6 else f"04{number}_04{number}"
        table.instant(f"{name}.clean", clean(retained))
    return table.open()


@LAYOUTS
@pytest.mark.parametrize(
    ("earliest", "first"),
    [
        pytest.param(["025"], "025", id="retained"),
        pytest.param(["015", "025"], "025", id="last-clean-counts"),
        pytest.param([""], "010", id="empty-is-the-first-commit"),
        pytest.param([None], "010", id="absent-is-the-first-commit"),
    ],
)
def test_time_before_what_the_cleaner_kept_is_refused(version, earliest, first):
    view = cleaned(version, *earliest)
    view.history.check_as_of(first)
    with pytest.raises(TimeTravelError, match=f"is before {first}, the earliest commit"):
        view.history.check_as_of(f"{int(first) - 1:03}")


@LAYOUTS
def test_incomplete_clean_refuses_nothing(version):
    check(travelling(version).instant("040.clean.inflight", clean("025")), "001")


def saved(table, time, *paths, completed="032"):
    """The table with a savepoint of its files at the root, and a clean of all before 200."""
    by_partition = {"": {"savepointDataFile": list(paths)}}
    layout_2 = table.layout == 2
    table.instant(
        f"{time}_{completed}.savepoint" if layout_2 else f"{time}.savepoint",
        {"savepointedBy": "me", "partitionMetadata": by_partition},
    )
    return table.instant("210_215.clean" if layout_2 else "210.clean", clean("200"))


@LAYOUTS
def test_savepoint_has_the_files_that_it_names(version):
    table = TinyTable(version, "COPY_ON_WRITE").write("010", "commit", F010)
    table.write("020", "commit", base("g", "020")).write("200", "commit", base("f", "200"))
    # As of 020, a file group that was replaced earlier is still on the storage, for another reason.
    table.data(base("old", "005"))
    view = saved(table, "020", F010, base("g", "020")).open()
    view.history.check_as_of("020")
    assert shape(view.slices.as_of("020")) == {"f": [F010], "g": [base("g", "020")]}
    assert shape(view.slices.as_of()) == {
        "f": [base("f", "200")],
        "g": [base("g", "020")],
        "old": [base("old", "005")],
    }
    for time in ("019", "021"):
        with pytest.raises(TimeTravelError, match="or for that of a savepoint"):
            view.history.check_as_of(time)


def test_savepoint_that_has_not_completed_keeps_nothing():
    table = TinyTable(9, "COPY_ON_WRITE").write("010", "commit", F010)
    table.instant("010.savepoint.inflight").instant("210_215.clean", clean("200"))
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(table, "010")


def test_savepoint_after_what_the_cleaner_kept_is_an_instant_as_any_other():
    table = TinyTable(9, "COPY_ON_WRITE").write("200", "commit", base("f", "200"))
    view = saved(table, "200", completed="212").open()
    assert shape(view.slices.as_of("200")) == {"f": [base("f", "200")]}


def test_lost_file_of_a_savepoint_is_named():
    table = TinyTable(9, "COPY_ON_WRITE").write("200", "commit", base("f", "200"))
    view = archive(saved(table, "010", F010), {"010": "015"}).open()
    view.history.check_as_of("010")
    with pytest.raises(MissingFileError, match=F010):
        view.slices.as_of("010")


def merged(version=9):
    table = TinyTable(version).data(F010, log("f", "020"), log("f", "025"))
    table.write("200", "deltacommit", log("f", "200"))
    return saved(table, "020", F010, log("f", "020"))


def test_savepoint_of_log_files_has_those_that_it_names():
    view = archive(merged(), {"010": "015", "020": "024", "025": "029"}).open()
    view.history.check_as_of("020")
    assert shape(view.slices.as_of("020")) == {"f": [F010, log("f", "020")]}


@pytest.mark.parametrize(
    ("compaction", "completed"),
    [
        pytest.param("018", "040", id="pending-when-the-savepoint-was-made"),
        pytest.param("022", "023", id="planned-while-an-earlier-commit-was-written"),
    ],
)
def test_savepoint_beside_a_compaction_may_lack_files(compaction, completed):
    table = archive(merged(), {"010": "015", "020": "024"})
    table.write(compaction, "commit", base("f", compaction), completed=completed)
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(table, "020")


def test_savepoint_of_a_compaction_before_or_after_is_whole():
    table = archive(merged(), {"010": "015", "020": "024"})
    table.write("012", "commit", completed="014").write("040", "commit", completed="045")
    check(table, "020")


def test_savepoint_beside_a_pending_compaction_may_lack_files():
    table = archive(merged(), {"010": "015", "020": "024"}).plan_compaction("018", ("", "f"))
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(table, "020")


def test_savepoint_of_log_files_without_completion_times_is_refused():
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(merged(6), "020")


def became_copy_on_write(version=9):
    """A table with a savepoint of when its type was MERGE_ON_READ."""
    table = TinyTable(version, "COPY_ON_WRITE").data(F010)
    return saved(table.write("200", "commit", base("f", "200")), "020", F010)


def test_savepoint_of_a_table_that_became_copy_on_write_may_lack_files_beside_a_compaction():
    table = archive(became_copy_on_write(), {"010": "015", "020": "024"})
    check(table, "020")
    table.write("018", "commit", base("f", "018"), completed="040")
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(table, "020")


def test_savepoint_of_a_table_that_became_copy_on_write_needs_completion_times():
    table = became_copy_on_write(6).instant("205.deltacommit", {"partitionToWriteStats": {}})
    with pytest.raises(TimeTravelError, match="cleaner kept"):
        check(table, "020")
