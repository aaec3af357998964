"""The chart of a run: a panel per table, a bar per engine and query.

python -m benchmarks.chart RESULTS.json       draw it again, next to the file
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Run, TableResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {
    "hudi-jvm": "#8c8c8c",
    "hudi-py-spark": "#1f6fb4",
    "hudi-rs": "#c8a06e",
    "hudi-py-user": "#3f8fd0",
    "hudi-py": "#6db3e8",
    "spark-parquet": "#c9c9c9",
    "pyarrow": "#e6e6e6",
}


def draw(run: Run, files: list[Path]) -> None:
    """Write the chart to files, in the formats of their names."""
    tables = [table for table in run.tables if table.measured]
    if not tables:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(tables), 1, figsize=(11, 4.2 * len(tables)), squeeze=False, layout="constrained"
    )
    for table, place in zip(tables, axes[:, 0], strict=True):
        draw_table(table, dict(run.engines), place)
    for file in files:
        figure.savefig(file, dpi=120)
    plt.close(figure)


def draw_table(table: TableResult, engines: dict[str, str], place: Axes) -> None:
    queries = table.queries
    width = 0.84 / len(engines)
    for number, (name, title) in enumerate(engines.items()):
        measurements = [table.get(name, query) for query in queries]
        at = [n + (number - (len(engines) - 1) / 2) * width for n in range(len(queries))]
        medians = [measured.median or 0 if measured else 0 for measured in measurements]
        place.bar(at, medians, width, label=title, color=COLORS.get(name))
    place.set_yscale("log")
    place.set_ylabel("seconds")
    place.set_xticks(range(len(queries)), queries.values(), rotation=25, ha="right", fontsize=8)
    place.set_title(f"({table.letter}) {table.title}: {table.facts['rows']:,} rows", fontsize=10)
    place.grid(axis="y", alpha=0.3)
    place.set_axisbelow(True)
    place.legend(fontsize=8, ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.08))


if __name__ == "__main__":
    source = Path(sys.argv[1])
    drawn = [source.with_suffix(".png"), source.with_suffix(".svg")]
    draw(Run.parse(source.read_text(encoding="utf-8")), drawn)
    print(*drawn)
