"""How many public names of the package have a docstring, and how many name the errors they raise.

``python -m tests.project.docstring_measures`` prints a table per folder, with ``--list`` the names
that lack something, too. An argument is the folder of another package, e.g. of an older commit.

The calls decide which functions can raise a package error. A plain name is looked up in the module
and its imports, ``self.name`` in the class. Any other ``x.name()`` counts as a call of every method
of that name in the package, unless a type of Python, pyarrow or numpy has such a method, too. So
the figures are estimates, good enough to compare two commits.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from tests.project.package_source import PACKAGE, Module, bindings, load_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

Node: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# They implement the protocol Storage, which describes their methods.
STORAGES = {"ArrowStorage", "ConfinedStorage", "MemoryStorage"}
FOREIGN_METHODS = {
    name
    for kind in (str, bytes, list, dict, set, Path, io.TextIOWrapper, io.BytesIO, np.ndarray)
    for name in dir(kind)
} | {name for kind in (pa.Table, pa.ChunkedArray, pa.Schema) for name in dir(kind)}


@dataclass
class Definition:
    """A function, class or method of the package."""

    module: str
    name: str  # dotted within the module: "Timeline.completed"
    node: Node
    owner: Definition | None  # the class of a method
    calls: set[str] = field(default_factory=set)  # full names, or ".name" of a method
    raises: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") for part in self.full_name.split("."))

    @property
    def is_override(self) -> bool:
        """Whether the class of a method has a base class or a protocol, apart from plain values."""
        if self.owner is None or not isinstance(self.owner.node, ast.ClassDef):
            return False
        bases = {ast.unparse(base) for base in self.owner.node.bases}
        return bool(bases - {"Enum", "str, Enum", "NamedTuple", "Protocol"}) or (
            self.owner.name in STORAGES
        )

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def returned_type(self) -> str:
        returned = None if isinstance(self.node, ast.ClassDef) else self.node.returns
        return ast.unparse(returned).strip("'") if returned else ""

    @property
    def names_errors(self) -> bool:
        above = self.owner.docstring if self.owner else ""
        return "Raises:" in self.docstring or "Raises:" in above


@dataclass(frozen=True)
class Measures:
    """Public definitions, and those that lack a docstring or a section "Raises:"."""

    public: list[Definition]
    can_raise: list[Definition]

    @property
    def without_docstring(self) -> list[Definition]:
        """Those that lack one, but for methods that override another: it describes them."""
        return [each for each in self.public if not each.docstring and not each.is_override]

    @property
    def without_raises(self) -> list[Definition]:
        return [each for each in self.can_raise if not each.names_errors]

    @property
    def raises_share(self) -> float:
        """Of the definitions that can raise a package error, the share that names its errors."""
        if not self.can_raise:
            return 1.0
        return 1 - len(self.without_raises) / len(self.can_raise)

    def of_folder(self, folder: str) -> Measures:
        def within(definitions: list[Definition]) -> list[Definition]:
            return [each for each in definitions if folder_of(each) == folder]

        return Measures(within(self.public), within(self.can_raise))


def measure(package: Path = PACKAGE) -> Measures:
    modules = load_modules(package)
    definitions = [each for module in modules.values() for each in _definitions(module)]
    _add_calls(definitions, modules)
    can_raise = _closure(definitions)
    # The docstring of a command is what --help prints.
    help_texts = {each.full_name for each in definitions if ".cli." in each.module}
    public = [each for each in definitions if each.is_public]
    return Measures(public, [each for each in public if each.full_name in can_raise - help_texts])


def folder_of(definition: Definition) -> str:
    """The folder or file below the package: "reading/merge", "scan"."""
    parts = definition.module.split(".")[1:]
    return "/".join(parts[:-1]) or "/".join(parts)


def _definitions(module: Module) -> Iterator[Definition]:
    def inside(body: list[ast.stmt], owner: Definition | None) -> Iterator[Definition]:
        for node in body:
            if isinstance(node, ast.If | ast.Try):
                yield from inside(node.body, owner)
            if not isinstance(node, Node) or _is_overload(node):
                continue
            name = f"{owner.name}.{node.name}" if owner else node.name
            definition = Definition(module.name, name, node, owner)
            yield definition
            if isinstance(node, ast.ClassDef):
                yield from inside(node.body, definition)

    return inside(module.tree.body, None)


def _is_overload(node: Node) -> bool:
    # The setter of a property has the docstring of its getter.
    return any(
        ast.unparse(decorator).endswith(("overload", ".setter"))
        for decorator in node.decorator_list
    )


def _add_calls(definitions: list[Definition], modules: dict[str, Module]) -> None:
    errors = {each.full_name for each in definitions if _is_error(each)}
    error_names = {name.rpartition(".")[2] for name in errors}
    by_name = {each.full_name: each for each in definitions}
    scopes = {name: _scope(module, modules, definitions) for name, module in modules.items()}
    # A function that makes an error to be raised is known by the type that it returns.
    makers = {
        each.full_name
        for each in definitions
        if isinstance(each.node, ast.FunctionDef) and each.returned_type in error_names
    }
    for definition in definitions:
        resolve = _Resolver(definition, scopes[definition.module], by_name)
        for node in _nodes_that_run(definition.node):
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                name = resolve(raised)
                made = name in makers or name.rpartition(".")[0] in errors
                definition.raises |= name in errors or made
            elif isinstance(node, ast.Call):
                definition.calls.add(resolve(node.func))


def _is_error(definition: Definition) -> bool:
    return definition.module.endswith(".errors") and isinstance(definition.node, ast.ClassDef)


def _scope(
    module: Module, modules: dict[str, Module], definitions: list[Definition]
) -> dict[str, str]:
    """Name within a module to the full name that it refers to."""
    scope = {
        local: ".".join(filter(None, [source, name]))
        for local, source, name in bindings(module, modules)
    }
    own = {e.name: e.full_name for e in definitions if e.module == module.name and not e.owner}
    return scope | own


@dataclass(frozen=True)
class _Resolver:
    definition: Definition
    scope: dict[str, str]
    by_name: dict[str, Definition]

    def __call__(self, function: ast.expr) -> str:
        """The full name of what is called; ".name" of a method of an object of unknown class."""
        if isinstance(function, ast.Name):
            return self.scope.get(function.id, "")
        if not isinstance(function, ast.Attribute):
            return ""
        owner = self.definition.owner
        if isinstance(function.value, ast.Name):
            if function.value.id in {"self", "cls"} and owner:
                name = f"{owner.full_name}.{function.attr}"
                return name if name in self.by_name else f".{function.attr}"
            if function.value.id in self.scope:
                return f"{self.scope[function.value.id]}.{function.attr}"
        return "" if function.attr in FOREIGN_METHODS else f".{function.attr}"


def _nodes_that_run(node: Node) -> Iterator[ast.AST]:
    """Yield the nodes of a function, or of the constructors of a class, whose errors get out."""
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if isinstance(child, ast.FunctionDef) and child.name in {"__init__", "__post_init__"}:
                yield from _nodes_that_run(child)
        return
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        yield current
        children = list(ast.iter_child_nodes(current))
        if isinstance(current, ast.Try) and any(map(_catches_all, current.handlers)):
            children = [child for child in children if child not in current.body]
        waiting += children


def _catches_all(handler: ast.ExceptHandler) -> bool:
    caught = ast.unparse(handler.type) if handler.type else "Exception"
    return caught in {"HudiError", "Exception"}


def _closure(definitions: list[Definition]) -> set[str]:
    """Full names of the definitions that raise, or call one that can."""
    callers: dict[str, set[str]] = defaultdict(set)
    for definition in definitions:
        for name in definition.calls:
            callers[name].add(definition.full_name)
    waiting = [each.full_name for each in definitions if each.raises]
    owners = {each.full_name for each in definitions if each.owner}
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += callers[name]
        if name in owners:
            waiting += callers["." + name.rpartition(".")[2]]
    return found


def table(measures: Measures) -> str:
    """A line per folder, and one for all."""
    folders = sorted({folder_of(each) for each in measures.public})
    lines = ["folder                    public  no docstring  can raise  Raises:  share"]
    for name, part in [
        *((folder, measures.of_folder(folder)) for folder in folders),
        ("all", measures),
    ]:
        named = len(part.can_raise) - len(part.without_raises)
        lines.append(
            f"{name:<24}{len(part.public):>8}{len(part.without_docstring):>14}"
            f"{len(part.can_raise):>11}{named:>9}{part.raises_share:>7.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", nargs="?", type=Path, default=PACKAGE)
    parser.add_argument("--list", action="store_true", help="name what lacks something")
    arguments = parser.parse_args()
    measures = measure(arguments.package.resolve())
    lacking = [f"no docstring: {each.full_name}" for each in measures.without_docstring]
    lacking += [f"no Raises: {each.full_name}" for each in measures.without_raises]
    report = [*lacking, table(measures)] if arguments.list else [table(measures)]
    sys.stdout.write("\n".join(report) + "\n")


if __name__ == "__main__":
    main()
