"""The picture of docs/how-a-read-works.md: the folders of the package, and their imports as arrows.

The arrows come from the import statements; only the places of the boxes are chosen here. An arrow
that a chain of others already implies is left out, and so are `errors.py` and `messages.py`, which
nearly all import, `arrow_values.py`, `cached_property.py`, `demo.py`,
`engine_stream.py`, `exact_decimals.py`, `extras.py`, `fork_safe_lock.py`, `html_table.py`,
`imported_function.py`, `short_name.py`, `thresholds.py`, `version.py`, `wording.py`, and
`__init__.py`, which only lists the public names. Run as a module, it writes the picture.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hudi_pyspark import _LOADED_WHEN_NAMED
from tests.project.package_source import Module, bindings, load_modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

Point: TypeAlias = tuple[float, float]
Graph: TypeAlias = "Mapping[str, Set[str]]"

FILE = Path(__file__).resolve().parents[2] / "docs" / "images" / "package_map.svg"
NOT_DRAWN = {
    "arrow_values",
    "demo",
    "cached_property",
    "engine_stream",
    "errors",
    "exact_decimals",
    "extras",
    "fork_safe_lock",
    "html_table",
    "hudi_pyspark",
    "imported_function",
    "messages",
    "names_elsewhere",
    "short_name",
    "thresholds",
    "version",
    "wording",
}

# Column and row of each box, and what it does.
PLACES = {
    "cli": (1, 0, "the command hudi-py"),
    "spark": (2, 0, "the data source for Spark"),
    "hudi_table": (1.5, 1, "the entry without Spark"),
    "storage": (4, 9, "file systems, credentials"),
    "catalogs": (4, 1, "tables by their names"),
    "doctor": (1, 2, "checks of a table"),
    "report": (3, 2, "a page about a table"),
    "inspection": (1, 3, "tables about the table"),
    "scan": (1, 4, "one query: plan and read"),
    "frames": (3, 4, "for other engines"),
    "planning": (1, 5, "a question becomes tasks"),
    "metadata_table": (1, 6, "files and their bounds"),
    "reading": (3, 5, "a task becomes batches"),
    "reading/base_files": (2, 6, "readers per file format"),
    "reading/merge": (3, 6, "records meet base rows"),
    "reading/log_records": (3, 7, "log blocks to records"),
    "tasks": (2, 8, "what executors get"),
    "custom_mergers": (2, 9, "users' merge functions"),
    "options": (1, 9, "text to typed options"),
    "filter": (1, 7, "conditions and bounds"),
    "columns": (3, 8, "types, schemas, texts"),
    "table": (2, 10, "which files are the table"),
    "format/log": (1, 11, "blocks of log files"),
    "format/parquet": (2, 11, "pages, Spark's calendar"),
    "format/hfile": (0, 12, "HFile by key or whole"),
    "format": (1, 12, "names, properties, filters"),
    "format/avro": (2, 12, "Avro records to Arrow"),
    "format/timeline": (3, 12, "instants, commit metadata"),
}
# Folders that are drawn around their rooms: column and row of the first and of the last box.
FRAMES = {"reading/": (2, 5, 3, 7), "format/": (0, 11, 3, 12)}

COLUMN = 176
ROW = 74
WIDTH = 148
HEIGHT = 42
MARGIN = 22
SVG = "http://www.w3.org/2000/svg"
ARROW_HEAD = (
    "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7'"
    " orient='auto'><path d='M0,0.5L8,4L0,7.5Z' fill='#57606a'/></marker></defs>"
)
FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Box:
    """A rectangle around its centre."""

    x: float
    y: float
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def top(self) -> Point:
        return self.x, self.y - self.height / 2

    @property
    def bottom(self) -> Point:
        return self.x, self.y + self.height / 2

    def side(self, towards: float) -> Point:
        """The middle of the left or right side, whichever is nearer to an x."""
        return self.x + (self.width / 2 if towards > self.x else -self.width / 2), self.y

    def is_crossed_by(self, a: Point, b: Point) -> bool:
        """Whether a line passes through the box or closely by it."""
        steps = 60
        return any(
            abs(a[0] + (b[0] - a[0]) * step / steps - self.x) < self.width / 2 + 5
            and abs(a[1] + (b[1] - a[1]) * step / steps - self.y) < self.height / 2 + 5
            for step in range(steps + 1)
        )


def room_graph() -> dict[str, set[str]]:
    """Folder or file below the package to those that its modules import."""
    modules = load_modules()
    graph: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        graph.setdefault(_room(module), set())  # also of one that imports for types alone
        for _, source, name in bindings(module, modules):
            # The package loads what it names from the module that has it.
            owner = _LOADED_WHEN_NAMED.get(name, source) if source == "hudi_pyspark" else source
            graph[_room(module)].add(_room(modules[owner]))
    return {
        room: rooms - NOT_DRAWN - {room} for room, rooms in graph.items() if room not in NOT_DRAWN
    }


def without_implied(graph: Graph) -> list[tuple[str, str]]:
    """The arrows of a graph without those that a longer way along other arrows implies."""

    @cache
    def below(room: str) -> frozenset[str]:
        return frozenset(graph[room]).union(*map(below, graph[room]))

    return sorted(
        (room, imported)
        for room, rooms in graph.items()
        for imported in rooms
        if not any(imported in below(other) for other in rooms)
    )


def render() -> str:
    """The picture as SVG.

    Raises:
        ValueError: a folder has no place, or an arrow has no way around the boxes.
    """
    graph = room_graph()
    if graph.keys() != PLACES.keys():
        raise ValueError(f"PLACES does not fit the folders: {sorted(graph.keys() ^ PLACES.keys())}")
    boxes = {room: _box(column, row) for room, (column, row, _) in PLACES.items()}
    width = COLUMN * max(column for column, _, _ in PLACES.values()) + WIDTH + 2 * MARGIN
    height = ROW * max(row for _, row, _ in PLACES.values()) + HEIGHT + 2 * MARGIN
    size = f"width='{width:g}' height='{height:g}'"
    lines = [
        f"<svg xmlns='{SVG}' {size} viewBox='0 0 {width:g} {height:g}' {FONT}>",
        ARROW_HEAD,
        f"<rect {size} fill='white'/>",
        *(_frame(name, place) for name, place in FRAMES.items()),
        *(_arrow(boxes, *arrow) for arrow in without_implied(graph)),
        *(line for room, box in boxes.items() for line in _labelled(room, box)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _room(module: Module) -> str:
    parts = module.name.split(".")
    if len(parts) == 1:
        return parts[0]
    room = "/".join(module.folder.split(".")[1:])
    return room if room in PLACES else parts[1]  # of a folder that is drawn as one box


def _box(column: float, row: float) -> Box:
    return Box(MARGIN + WIDTH / 2 + column * COLUMN, MARGIN + HEIGHT / 2 + row * ROW)


def _frame(name: str, place: tuple[float, float, float, float]) -> str:
    first, last = _box(*place[:2]), _box(*place[2:])
    x = first.x - WIDTH / 2 - 9
    y = first.top[1] - 9
    width = last.x - first.x + WIDTH + 18
    height = last.y - first.y + HEIGHT + 18
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='8' fill='#f3f6fa'/>\n"
        f"<text x='{x + width - 10:g}' y='{y + 21:g}' font-size='13' text-anchor='end'"
        f" fill='#57606a'>{name}</text>"
    )


def _labelled(room: str, box: Box) -> Iterator[str]:
    label = room.rpartition("/")[2] + ("/" if _is_folder(room) else ".py")
    label += "*.py" if f"{room}/" in FRAMES else ""
    yield (
        f"<rect x='{box.x - WIDTH / 2:g}' y='{box.top[1]:g}' width='{WIDTH}' height='{HEIGHT}'"
        " rx='5' fill='white' stroke='#3b6ea5'/>"
    )
    for text, size, colour, below in (
        (label, 13, "#1f2328", -3),
        (PLACES[room][2], 11, "#57606a", 13),
    ):
        yield (
            f"<text x='{box.x:g}' y='{box.y + below:g}' font-size='{size}' text-anchor='middle'"
            f" fill='{colour}'>{escape(text)}</text>"
        )


def _is_folder(room: str) -> bool:
    return f"hudi_pyspark.{room.replace('/', '.')}" in _folders()


@cache
def _folders() -> frozenset[str]:
    return frozenset(module.folder for module in load_modules().values())


def _arrow(boxes: Mapping[str, Box], source: str, target: str) -> str:
    others = [box for room, box in boxes.items() if room not in {source, target}]
    for way in _ways(boxes[source], boxes[target]):
        if not any(box.is_crossed_by(a, b) for a, b in pairwise(way) for box in others):
            points = " ".join(f"{x:g},{y:g}" for x, y in way)
            return (
                f"<polyline points='{points}' fill='none' stroke='#57606a'"
                " stroke-linejoin='round' marker-end='url(#head)'/>"
            )
    raise ValueError(f"no way for the arrow from {source} to {target}: move a box")


def _ways(source: Box, target: Box) -> Iterator[list[Point]]:
    """Ways from one box to another: straight, around a corner, or along a lane between columns."""
    if source.y == target.y:
        yield [source.side(target.x), target.side(source.x)]
        return
    yield [source.bottom, target.top]
    if abs(source.x - target.x) > WIDTH:
        yield [source.side(target.x), (target.x, source.y), target.top]
    lanes = [MARGIN + COLUMN * half / 2 - (COLUMN - WIDTH) / 2 for half in range(11)]
    for lane in sorted(lanes, key=lambda x: abs(x - target.x) + abs(x - source.x)):
        if min(abs(lane - source.x), abs(lane - target.x)) > WIDTH / 2:
            leave, arrive = source.side(lane), target.side(lane)
            yield [leave, (lane, leave[1]), (lane, arrive[1]), arrive]


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
