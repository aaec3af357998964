"""Damage small golden tables in every way, read each, and count what comes of it.

``python -m verification.damage --step 50`` damages every fiftieth byte and length; 1: all.
``--metadata`` damages the metadata table alone, ``--lines`` the files that describe a table, and
``--swaps`` puts the content of each file in the place of others: see `damages`. ``--entries`` flips
bytes of metadata tables, and compares what is read from the file that has them: see `entries`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial

from verification.common.data import load_data
from verification.common.runs import Run, ask_in_children, parser_of
from verification.damage import damages, entries, tables
from verification.damage.damages import Damage

_DATA = load_data(__file__, "tables.toml")
TABLES = _DATA["tables"]
METADATA_TABLES = _DATA["metadata_tables"]
FLIPPED_TABLES = _DATA["flipped_tables"]


def _tables(given: argparse.Namespace) -> list[str]:
    if given.tables:
        return list(given.tables)
    if given.entries:
        return list(FLIPPED_TABLES)
    return list(METADATA_TABLES if given.metadata else TABLES)


def _damages_of(case: str, given: argparse.Namespace) -> Iterator[Damage]:
    if given.entries:
        return entries.flip_damages_of(case, (given.step, given.others, given.timeline))
    if given.swaps:
        return damages.swap_damages_of(case, given.step)
    if given.lines:
        return damages.line_damages_of(case, given.step)
    if given.metadata:
        return damages.metadata_damages_of(case, given.step)
    return damages.damages_of(case, given.step)


def main() -> int:
    """Print the outcomes; the status is 1 if one of them may not be.

    These are bare errors, a process that ended, and other rows where a metadata table lost files,
    or where a file below ``.hoodie`` has the content of another; with ``--entries`` all other rows,
    and other entries without a warning.
    """
    parser = parser_of(__doc__, step=50)
    parser.add_argument("--metadata", action="store_true", help="only the metadata tables")
    parser.add_argument("--lines", action="store_true", help="files that describe the tables")
    parser.add_argument("--swaps", action="store_true", help="contents of other files")
    parser.add_argument("--entries", action="store_true", help="flips of metadata tables")
    parser.add_argument("--others", type=int, default=4, help="bytes of indexes, for --entries")
    parser.add_argument("--timeline", type=int, default=20, help="bytes of files of the timeline")
    parser.add_argument("tables", nargs="*", help="names of golden tables")
    given = parser.parse_args()
    judge = entries if given.entries else damages
    run = Run(entries.VERDICTS if given.entries else tables.VERDICTS)
    for case in _tables(given):
        listed = list(_damages_of(case, given))
        ask = partial(judge.outcome_of, case)
        ended = partial(judge.ended, case)
        for outcome in ask_in_children(ask, listed, ended):
            run.add(outcome)
        print(f"{time.strftime('%X')} {case}: {len(listed):,} damages", flush=True)
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
