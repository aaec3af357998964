"""The answers of the reader under test, filtered ones included."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark import HudiError, HudiTable
from tests.golden.filters import Filter, filters_of
from tests.histories.compare import Answer, Failure, arrow_answer, difference
from tests.histories.queries import Query, QueryKind

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random


def read_ours(path: Path, query: Query) -> Answer | Failure:
    found = read_arrow(path, query)
    return found if isinstance(found, Failure) else arrow_answer(found)


def read_arrow(path: Path, query: Query) -> pa.Table | Failure:
    options = {**query.options, "filter": query.filter} if query.filter else query.options
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a range whose files are gone is answered with one
            return HudiTable(str(path)).scan_with(options).to_arrow()
    except HudiError as error:
        return Failure(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001  (a finding of its own)
        return Failure(type(error).__name__, str(error)[:600], is_named=False)


def some_filters(found: pa.Table, query: Query, random: Random, most: int) -> list[Filter]:
    """Filters made of the values of an answer; none of changes, whose images are text."""
    if query.kind is QueryKind.CDC or not found.num_rows:
        return []
    filters = list(filters_of(found, per_column=2))
    return random.sample(filters, min(most, len(filters)))


def filter_problem(path: Path, query: Query, all_rows: pa.Table, filter: Filter) -> str:  # noqa: A002
    """How a filtered answer differs from the unfiltered one, filtered here; "" if it does not."""
    ours = read_ours(path, query.with_filter(filter.text))
    if isinstance(ours, Failure):
        return f"refused with a filter only: {ours.error}: {ours.message}"
    kept = [filter.holds(row) is True for row in all_rows.to_pylist(maps_as_pydicts=None)]
    found = difference(arrow_answer(all_rows.filter(pa.array(kept, pa.bool_()))), ours)
    return str(found) if found else ""
