"""A scan enters no more modules, functions and classes than it did: see `rooms.py`."""

import json
import subprocess
import sys

import pytest

from tests.project import rooms

ROOM = 1.03  # so that a mend of a few lines need not remove as many elsewhere

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="code objects have no qualified names"
)


def growth(functions, recorded):
    """The modules with most new functions, in words."""
    added = {name: count - recorded.get(name, 0) for name, count in functions.items()}
    largest = sorted(added, key=lambda name: (-added[name], name))[:3]
    return ", ".join(f"{name} (+{added[name]})" for name in largest if added[name] > 0)


def test_scan_enters_no_more_rooms_than_recorded():
    """In a process of its own: what others tests have cached would hide functions."""
    code = (
        "import json; from tests.project import rooms; r = rooms.measured(); "
        "print(json.dumps([r.functions_by_module, len(r.classes)]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=rooms.PROJECT, capture_output=True, text=True, check=True
    )
    functions, classes = json.loads(run.stdout)
    recorded = json.loads(rooms.RECORDED.read_text(encoding="utf-8"))
    before = recorded["functions"]
    found = {"modules": len(functions), "functions": sum(functions.values()), "classes": classes}
    ceilings = {
        "modules": len(before),
        "functions": sum(before.values()),
        "classes": recorded["classes"],
    }
    for what, number in found.items():
        assert number <= ceilings[what] * ROOM, (
            f"the scan enters {number} {what} instead of {ceilings[what]}; new functions are in "
            f"{growth(functions, before)}. Join what is one concept (`python -m "
            "tests.project.rooms` lists all of them), or record the growth with --record"
        )


def test_growth_names_the_modules_with_most_new_functions():
    before = {"a.py": 1, "b.py": 2, "c.py": 3}
    assert growth({"a.py": 3, "b.py": 2, "d.py": 1}, before) == "a.py (+2), d.py (+1)"
