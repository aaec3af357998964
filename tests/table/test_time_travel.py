import io

import fastavro
import pytest

from hudi_pyspark.errors import TimeTravelError
from tests.table.tiny_table import TinyTable, base

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
