"""The answers of Apache Hudi's table functions about a table, in Apache Hudi's columns."""

import re
from collections.abc import Iterator

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.format.timeline.instant import COMMIT_ACTIONS, InstantState
from hudi_pyspark.inspection.commits import KnownCommit, commits, known_instants
from hudi_pyspark.inspection.definition import with_columns
from hudi_pyspark.table.view import TableView

# Columns of Apache Hudi, and those of `Inspection.commits` that have their values.
_COUNTS = {
    "Total_Bytes_Written": "written_bytes",
    "Total_Files_Updated": "updated_files",
    "Total_Partitions_Written": "partitions",
    "Total_Records_Written": "records",
    "Total_Updated_Records_Written": "updates",
    "Total_Write_Errors": "errors",
}
# As regular expressions; "[" alone is none, so it is refused.
_GLOB = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", "[": "["}
_GLOB_TOKEN = re.compile(r"\\.|\[[^\]]+\]|.", re.DOTALL)


@with_columns(f"Timestamp, Action, State, Completion_Time, File_Name, {' int, '.join(_COUNTS)} int")
def hudi_query_timeline(view: TableView, *, archived: bool) -> Iterator[dict[str, object]]:
    """Yield one row per instant; see `Inspection.hudi_query_timeline`."""
    # Delta commits count for nothing in a table that became COPY_ON_WRITE, and are shown as well.
    completed = view.history.all_commits
    metadata_of = view.history.metadata_of(commit.requested_time for commit in completed)
    known = (KnownCommit(c, metadata_of[c.requested_time], is_archived=False) for c in completed)
    written = {
        row["requested_time"]: row | {"updated_files": row["files"] - row["new_files"]}
        for row in commits(known).to_pylist()
    }
    for instant, is_archived in known_instants(view, archived=archived):
        is_commit = instant.is_completed and instant.action in COMMIT_ACTIONS
        # Apache Hudi shows 0 of an instant whose content is empty or not loaded, -1 of a plan.
        is_empty = is_archived or is_commit or instant.state is InstantState.INFLIGHT
        counts = written[instant.requested_time] if is_commit and not is_archived else {}
        yield {
            "Timestamp": instant.requested_time,
            "Action": str(instant.action),
            "State": instant.state.name,
            "Completion_Time": instant.completion_time,
            "File_Name": instant.file_name(view.config.layout),
            **{name: counts.get(key, 0 if is_empty else -1) for name, key in _COUNTS.items()},
        }


@with_columns(
    "File_ID, Partition_Path, Base_Instant_Time, Base_File_Path, Base_File_Size int, "
    "Log_File_Count int, Log_File_Size int, Log_File_Scheduled int, Log_File_Unscheduled int"
)
def hudi_filesystem_view(view: TableView, folders: str) -> Iterator[dict[str, object]]:
    """Yield one row per file slice; see `Inspection.hudi_filesystem_view`.

    Raises:
        InvalidOptionError: ``folders`` is not a glob.
    """
    pattern = _folders_pattern(folders)
    for file_slice in view.slices.all():
        partition = file_slice.partition_path
        is_chosen = bool(partition) == bool(folders) and pattern.fullmatch(partition)
        # Commits also name slices of which a clean has removed all files.
        if not (is_chosen and any(file.is_listed for file in file_slice.files)):
            continue
        base = file_slice.base_file
        base_time = file_slice.base_instant_time
        sizes = [(log.size, log.instant_time == base_time) for log in file_slice.log_files]
        scheduled = sum(size for size, is_scheduled in sizes if is_scheduled)
        log_bytes = sum(size for size, _ in sizes)
        yield {
            "File_ID": file_slice.file_id,
            "Partition_Path": partition,
            "Base_Instant_Time": base_time,
            "Base_File_Path": _uri(view, base.path) if base is not None else "",
            "Base_File_Size": base.size if base is not None else -1,
            "Log_File_Count": len(sizes),
            "Log_File_Size": log_bytes,
            "Log_File_Scheduled": scheduled,
            "Log_File_Unscheduled": log_bytes - scheduled,
        }


def _uri(view: TableView, path: str) -> str:
    location = view.storage.describe(path)
    return location if "://" in location else f"file:{location}"


def _folders_pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob as Hadoop has them: ``*``, ``?``, ``[a-z]``, ``[!a-z]``, ``{a,b}``.

    Raises:
        InvalidOptionError: a bracket or a brace has no counterpart.
    """
    expression = ""
    depth = 0
    for token in _GLOB_TOKEN.findall(glob.strip("/")):
        depth += (token == "{") - (token == "}")
        if token.startswith("[") and len(token) > 1:
            expression += re.sub(r"\A\[!", "[^", token)
        elif token == "," and depth:
            expression += "|"
        else:
            expression += _GLOB.get(token) or re.escape(token[-1])
    try:
        return re.compile(expression)
    except re.error as error:
        raise InvalidOptionError(f"folders {glob!r} is not a glob: {error}") from None
