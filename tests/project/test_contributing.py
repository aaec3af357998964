"""CONTRIBUTING and SECURITY say what is true of this checkout."""

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "CONTRIBUTING.md", PROJECT / "SECURITY.md"]
TEXT = PAGES[0].read_text(encoding="utf-8")
MODULES = sorted((PROJECT / "hudi_pyspark").rglob("*.py"))
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}


def test_every_make_target_exists():
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE)) <= targets


@pytest.mark.parametrize(
    "path",
    sorted(set(re.findall(r"`((?:hudi_pyspark|tests|verification|\.github)/[\w./-]*)`", TEXT))),
)
def test_every_path_exists(path):
    assert (PROJECT / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (PROJECT / link).is_file()


def names(tree: ast.Module) -> set[str]:
    """Modules that are imported and functions that are called by their bare name."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(f"{node.func.id}()")
    return found


def test_nothing_that_a_table_contains_can_be_run():
    unsafe = UNSAFE_MODULES | {f"{name}()" for name in UNSAFE_CALLS}
    used = {path.name: names(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {path: found & unsafe for path, found in used.items() if found & unsafe} == {}
