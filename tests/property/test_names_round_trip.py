import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.format.data_files import BaseFileName, LogFileName, LogKind, parse_data_file_name
from hudi_pyspark.format.timeline.instant import (
    Action,
    Instant,
    InstantState,
    NotAnInstant,
    moment_of,
)
from tests.data_file_names import name_of

pytestmark = pytest.mark.property

times = st.from_regex(r"[0-9]{1,20}", fullmatch=True)
ids = st.from_regex(r"[a-zA-Z0-9-]{1,40}", fullmatch=True)
extensions = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
task_tokens = st.from_regex(r"[0-9]{1,4}-[0-9]{1,5}-[0-9]{1,5}", fullmatch=True)
# Folders of external files may hold anything but control characters and what only Hudi's marks use.
folders = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1).filter(
    lambda folder: not folder.startswith("/") and not folder.endswith("/")
)
original_names = st.from_regex(r"[a-z0-9_.-]{1,20}", fullmatch=True)

pending_only = {Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING}
pending_instants = st.builds(
    Instant,
    times,
    st.sampled_from(Action),
    st.sampled_from([InstantState.REQUESTED, InstantState.INFLIGHT]),
).filter(lambda i: (i.action, i.state) != (Action.SAVEPOINT, InstantState.REQUESTED))
completed_instants = st.builds(
    Instant,
    times,
    st.sampled_from([action for action in Action if action not in pending_only]),
    st.just(InstantState.COMPLETED),
    st.none() | times,
)
log_names = st.builds(
    LogFileName,
    ids,
    times,
    st.integers(0, 10**6),
    task_tokens,
    st.sampled_from([LogKind.LOG, LogKind.CDC]),
) | st.builds(LogFileName, ids, times, st.integers(0, 10**6))
native_log_names = st.builds(
    LogFileName,
    ids,
    times,
    st.integers(0, 10**6),
    task_tokens,
    st.sampled_from([LogKind.LOG, LogKind.DELETES, LogKind.CDC]),
    st.sampled_from(["parquet", "hfile", "lance"]),
)


@given(pending_instants | completed_instants)
def test_parse_inverts_file_name_on_layout_2(instant):
    assert Instant.parse(instant.file_name(2), 2) == instant


@given(pending_instants | completed_instants, st.sampled_from([0, 1]))
def test_parse_inverts_file_name_on_layouts_without_completion_times(instant, layout):
    name = instant.file_name(layout)
    assert Instant.parse(name, layout).file_name(layout) == name


@given(st.text() | st.from_regex(r"[0-9]+(_[0-9]+)?\.[a-z]+(\.[a-z]+)?"), st.sampled_from([1, 2]))
def test_any_name_is_an_instant_or_refused(name, layout):
    try:
        instant = Instant.parse(name, layout)
    except NotAnInstant:
        return
    assert instant.file_name(layout) == name


@given(st.datetimes())
def test_instant_of_a_moment_is_the_moment_cut_to_milliseconds(moment):
    text = f"{moment.year:04}{moment:%m%d%H%M%S}{moment.microsecond // 1000:03}"
    milliseconds = moment.microsecond // 1000 * 1000
    assert moment_of(text) == moment.replace(microsecond=milliseconds)


@given(st.builds(BaseFileName, ids, ids, times, extensions))
def test_parse_inverts_format_of_base_files(base_file):
    assert parse_data_file_name(name_of(base_file)) == base_file


@given(st.none() | folders, original_names, times)
def test_parse_inverts_format_of_external_files(folder, name, instant):
    file_id = name if folder is None else f"{folder}/{name}"
    parsed = BaseFileName.parse(name_of(BaseFileName(file_id, None, instant, "ignored")))
    assert parsed is not None
    assert (parsed.file_id, parsed.instant, parsed.write_token) == (file_id, instant, None)


@given(log_names)
def test_parse_inverts_format_of_log_files(log_file):
    assert parse_data_file_name(name_of(log_file)) == log_file
