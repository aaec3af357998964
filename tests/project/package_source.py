"""The source of the package as syntax trees, and which of its modules imports which."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[2] / "hudi_pyspark"


@dataclass(frozen=True)
class Module:
    """A module of the package: its dotted name, the name of the package included, and its file."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        """Dotted name of the folder that the module is in, "hudi_pyspark" for the top."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


def load_modules(package: Path = PACKAGE) -> dict[str, Module]:
    """Name to module, in the order of their names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        found[name] = Module(name, path)
    return found


def bindings(module: Module, modules: dict[str, Module]) -> Iterator[tuple[str, str, str]]:
    """Yield (local name, module, name in that module or "") for each import of the package's own.

    Imports for type checkers alone are left out; those inside functions are included.
    """
    for node in _run_time_nodes(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in modules:
                    yield alias.asname or alias.name, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            source = _source(module, node)
            for alias in node.names:
                local = alias.asname or alias.name
                if f"{source}.{alias.name}" in modules:
                    yield local, f"{source}.{alias.name}", ""
                elif source in modules:
                    yield local, source, alias.name


def import_graph(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Module to the modules of the package that it imports at run time."""
    return {
        name: {source for _, source, _ in bindings(module, modules)} - {name}
        for name, module in modules.items()
    }


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _run_time_nodes(child)


def _source(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parents = module.folder.split(".")
    parents = parents[: len(parents) - node.level + 1]
    return ".".join([*parents, *filter(None, [node.module])])


PROJECT = Path(__file__).resolve().parents[2]


PACKAGE = PROJECT / "hudi_pyspark"


LONGEST_CHAIN = 14  # modules that import one another when the first of them is imported


MODULES = {
    ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
