"""Decide whether the file of a commit has the content of that commit."""

from hudi_pyspark.format.data_files import BaseFileName, parse_data_file_name
from hudi_pyspark.format.timeline.instant import Action, Instant
from hudi_pyspark.format.timeline.instant_metadata import CommitMetadata


def problem_of_commit(instant: Instant, metadata: CommitMetadata) -> str:
    """Return why metadata cannot be that of the completed commit whose file has it; "" if it can.

    The file of another commit is commit metadata as well. Any of these shows that it is another:

    - No write stat names a file, as in the plan of a commit.
    - A base file has another instant in its name. Log files of the commit may have one.
    - It replaces file groups, and the commit is not a replacecommit.
    """
    if metadata.replaced_file_ids and instant.action is not Action.REPLACE_COMMIT:
        return f"it replaces file groups, which a {instant.action} does not"
    stats = [metadata.sample] if metadata.sample else [stat for _, stat in metadata.all_stats()]
    if stats and not any(stat.path for stat in stats):
        return "it names no file, like the plan of a commit"
    parsed_names = (parse_data_file_name(stat.file_name) for stat in stats)
    base = next((name for name in parsed_names if isinstance(name, BaseFileName)), None)
    if base is None or _are_one_time(base.instant, instant.requested_time):
        return ""
    return f"it names a base file of the instant {base.instant}"


def _are_one_time(time: str, other: str) -> bool:
    """Decide whether two texts are one time; early releases left out the milliseconds."""
    return time.startswith(other) or other.startswith(time)
