"""A public function is used by another module or a test; others begin with an underscore.

A class may be public alone as what a public function returns.
"""

import ast
import re
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "hudi_pyspark"
# Who may use a name: modules, tests, and what names modules and functions by text.
USERS = ("hudi_pyspark", "tests", "verification", "benchmarks", "examples", ".ci")
WORD = re.compile(r"\w+")


def public_functions(path: Path) -> list[str]:
    """The functions of a module, without commands, which the table of commands names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    public = [function for function in functions if not function.name.startswith("_")]
    return [each.name for each in public if "cli" not in path.parts or not each.decorator_list]


def test_public_function_is_used_elsewhere():
    files = [path for folder in USERS for path in (PROJECT / folder).rglob("*.py")]
    words = {path: set(WORD.findall(path.read_text(encoding="utf-8"))) for path in files}
    uses = Counter(word for of_file in words.values() for word in of_file)
    texts = [PROJECT / "pyproject.toml", *PACKAGE.rglob("*.java"), *(PROJECT / "docs").glob("*.md")]
    by_text = {word for path in texts for word in WORD.findall(path.read_text(encoding="utf-8"))}
    unused = [
        f"{path.relative_to(PROJECT)}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in public_functions(path)
        if uses[name] < 2 and name not in by_text
    ]
    assert unused == [], "give these names an underscore"
