"""The rooms of a scan: which modules, functions and classes a cold, filtered scan enters.

    python -m tests.project.rooms             list the functions, with their calls, and the sums
    python -m tests.project.rooms --record    write rooms.json anew

Who follows a row from a file to the answer reads these functions. So their number is what a change
costs its next reader, and `test_rooms.py` keeps it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudi_pyspark import HudiTable

if TYPE_CHECKING:
    from types import FrameType

PROJECT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("rooms.json")
TABLE = PROJECT / "examples" / "data" / "orders.zip"
_PACKAGE = str(PROJECT / "hudi_pyspark") + "/"
# Blocks of code within a function, which its readers see anyway.
_INNER = ("<module>", "<genexpr>", "<listcomp>", "<lambda>", "<dictcomp>", "<setcomp>")


@dataclass(frozen=True, slots=True)
class Rooms:
    """What a scan enters, by module: functions with the number of their calls."""

    calls: dict[tuple[str, str], int]

    @property
    def functions_by_module(self) -> dict[str, int]:
        """Number of functions, by module."""
        return dict(sorted(Counter(module for module, _ in self.calls).items()))

    @property
    def classes(self) -> set[tuple[str, str]]:
        """The classes whose methods are entered."""
        names = ((module, name.rpartition(".")[0]) for module, name in self.calls)
        return {(module, name) for module, name in names if name and "<locals>" not in name}


def enter(path: str) -> Rooms:
    """Scan a table that this process has not opened yet, and return what the scan enters."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGE):
            # Python 3.11 and later know the qualified name.
            name = getattr(code, "co_qualname", code.co_name)
            if not any(inner in name for inner in _INNER):
                calls[code.co_filename.removeprefix(_PACKAGE), name] += 1

    sys.setprofile(note)
    try:
        HudiTable(path).scan(["id"], filter="region = 'emea'").to_arrow()
    finally:
        sys.setprofile(None)
    return Rooms(dict(calls))


def measured() -> Rooms:
    """Return the rooms of a scan of the small table, in a process that has imported all modules."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(TABLE) as archive:
            archive.extractall(folder)
        (path,) = Path(folder).iterdir()
        HudiTable(str(path)).scan().to_arrow()  # imports modules that are loaded late
        return enter(str(path))


def main(arguments: list[str]) -> None:
    rooms = measured()
    functions = rooms.functions_by_module
    if arguments == ["--record"]:
        record = {"classes": len(rooms.classes), "functions": functions}
        RECORDED.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for (module, name), count in sorted(rooms.calls.items()):
        sys.stdout.write(f"{count:6} {module} {name}\n")
    sys.stdout.write(
        f"{len(functions)} modules, {len(rooms.calls)} functions, {len(rooms.classes)} classes, "
        f"{sum(rooms.calls.values())} calls\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
