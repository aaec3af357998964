"""Commands that show and clear the cache of merges in files of this user."""

import os
from datetime import datetime, timezone

import click

from hudi_pyspark.cli import arguments
from hudi_pyspark.cli.printing import Output, say, show_pairs
from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.reading.merge.outcome_files import OutcomesOnDisk, cache_folder

_folder_option = click.option(
    "--folder", type=arguments.PLACE, default="", help="Option merge_cache_folder of the reads."
)


@click.group()
def cache() -> None:
    """Show or remove what merges decided."""


@cache.command
@_folder_option
@arguments.output_option
def show(folder: str, *, output: Output) -> None:
    """Show how many outcomes of merges are kept, and their size (option merge_cache=disk)."""
    outcomes = _outcomes(folder)
    files = outcomes.files()
    last = max((used for used, _, _ in files), default=None)
    pairs = {
        "folder": str(outcomes.folder),
        "files": len(files),
        "total_bytes": sum(size for _, size, _ in files),
        "last_use": last and datetime.fromtimestamp(last // 10**9, timezone.utc).isoformat(),
    }
    show_pairs(pairs, output)


@cache.command
@_folder_option
def clear(folder: str) -> None:
    """Remove all outcomes of merges; later reads merge again."""
    outcomes = _outcomes(folder)
    count = len(outcomes.files())
    outcomes.clear()
    say(f"removed {count} files from {outcomes.folder}")


def _outcomes(folder: str) -> OutcomesOnDisk:
    """Return the outcomes in a folder, "" for the usual one.

    Raises:
        InvalidOptionError: there is no usual folder.
    """
    place = cache_folder(folder, os.environ)
    if place is None:
        raise InvalidOptionError(
            "this user has no home folder (HOME is not set), so no merges are kept unless "
            "merge_cache_folder names a folder: name it with --folder"
        )
    return OutcomesOnDisk(place)
