"""The functions of the package that other folders call, and the errors that they raise.

Run as a module, it prints what ``help()`` says of some of them:
``python -m tests.project.shared_functions --count 25 --seed 1``.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import functools
import importlib
import inspect
import random
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from tests.project.measure import imports
from tests.project.package_source import bindings, load_modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.project.package_source import Module

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Errors = tuple[type[BaseException], ...]
Namespace = dict[str, Any]
# A variable may be of any of the first two, and the third is that of an abstract method.
_UNSPECIFIC = (Exception, BaseException, NotImplementedError)


@dataclass(frozen=True)
class SharedFunction:
    """A public function, method or property that a module of another folder names."""

    name: str  # e.g. "hudi_pyspark.scan.Scan.where"
    function: FunctionType
    docstring: str  # with the docstrings of the methods that it implements


@dataclass(frozen=True)
class RaisedError:
    """An error, and the function whose ``raise`` statement raises it."""

    error: type[BaseException]
    function: str
    line: int


class Package:
    """The functions of a package: its source as syntax trees, its names as objects."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self._modules = {
            name: module for name, module in modules.items() if not name.endswith("__main__")
        }
        self._namespaces = {name: self._namespace(each) for name, each in self._modules.items()}
        self._definitions = {
            (name, qualified): node
            for name, module in self._modules.items()
            for qualified, node in _definitions(module.tree)
        }

    def _namespace(self, module: Module) -> Namespace:
        """Return the names of a module as objects, with those that only types or functions need."""
        names: Namespace = dict(vars(importlib.import_module(module.name)))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module in self._modules_by_name:
                source = importlib.import_module(node.module)
                for alias in node.names:
                    if hasattr(source, alias.name):
                        names.setdefault(alias.asname or alias.name, getattr(source, alias.name))
        return names

    @cached_property
    def _modules_by_name(self) -> frozenset[str]:
        return frozenset(self._modules)

    @cached_property
    def shared_functions(self) -> list[SharedFunction]:
        """The public functions, methods and properties that other folders name, in order."""
        shared: list[SharedFunction] = []
        imported_by = {each.name: set(self._imported(each)) for each in self._modules.values()}
        attributes_of = {each.name: _attributes(each.tree) for each in self._modules.values()}
        for name, module in self._modules.items():
            users = [each.name for each in self._modules.values() if each.folder != module.folder]
            imported = set().union(*(imported_by[user] for user in users))
            attributes = set().union(
                *(attributes_of[user] for user in users if name in self._reachable[user])
            )
            for qualified, _ in _definitions(module.tree):
                owner, _, member = qualified.rpartition(".")
                is_named = member in attributes if owner else (name, member) in imported
                if is_named and not re.search(r"(^|\.)_", qualified) and "." not in owner:
                    shared += self._shared(name, owner, member)
        return shared

    def _shared(self, module: str, owner: str, member: str) -> Iterator[SharedFunction]:
        names = self._namespaces[module]
        kind = names.get(owner)
        if isinstance(kind, type):
            if any(member in vars(each) for each in kind.__mro__ if not self._has(each)):
                return  # another library says what the method does
            function = _function_of(inspect.getattr_static(kind, member))
            kinds = [kind, *(each for each in self._protocols if _implements(kind, each, member))]
            texts = [*dict.fromkeys(_docstring(each, member) for each in kinds)]
        else:
            function = _function_of(names.get(member))
            texts = [inspect.getdoc(function) or ""]
        if function is not None:
            name = ".".join(filter(None, [module, owner, member]))
            yield SharedFunction(name, function, "\n\n".join(filter(None, texts)))

    def _has(self, kind: type) -> bool:
        return kind.__module__ in self._modules

    @cached_property
    def _protocols(self) -> list[type]:
        """The protocols and base classes of the package."""
        kinds = {
            each
            for names in self._namespaces.values()
            for each in names.values()
            if isinstance(each, type) and getattr(each, "_is_protocol", False)
        }
        return sorted(kinds - {Protocol}, key=lambda kind: kind.__qualname__)

    def _imported(self, user: Module) -> Iterator[tuple[str, str]]:
        """Yield (module, name in it) for what a module imports, or names as part of a module."""
        for local, source, name in bindings(user, self._modules):
            if name:
                yield source, name
            else:
                for node in ast.walk(user.tree):
                    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == local:
                        yield source, node.attr

    @cached_property
    def _reachable(self) -> dict[str, set[str]]:
        """Module to the modules whose objects it may get: those that it imports, and theirs."""
        graph = {
            name: imports(module, self._modules, types=True) | _late_imports(module, self._modules)
            for name, module in self._modules.items()
        }
        reachable: dict[str, set[str]] = {}
        for name in graph:
            reached = {name}
            waiting = [name]
            while waiting:
                new = graph[waiting.pop()] - reached
                reached |= new
                waiting += new
            reachable[name] = reached
        return reachable

    def raised(self, function: FunctionType, *, depth: int = 1) -> set[RaisedError]:
        """Return the errors of ``raise`` statements in a function, and in those that it calls.

        Args:
            function: one of the package.
            depth: how many calls are followed.
        """
        node = self._definitions.get((function.__module__, function.__qualname__))
        if node is None:
            return set()
        owner = self._owner(function)
        return set(_Body(self, node, function, owner, depth).raised())

    def caught_by_context(self, function: FunctionType | None) -> Iterator[type[BaseException]]:
        """Yield the errors that do not leave a ``with`` block of a context manager."""
        node = function and self._definitions.get((function.__module__, function.__qualname__))
        if function is not None and node:
            body = _Body(self, node, function, self._owner(function), 0)
            for part in ast.walk(node):
                if any(isinstance(each, ast.Yield) for each in ast.walk(part)):
                    yield from body.caught_by(part)

    def _owner(self, function: FunctionType) -> type | None:
        first, _, method = function.__qualname__.partition(".")
        owner = self._namespaces[function.__module__].get(first) if method else None
        return owner if isinstance(owner, type) else None

    @cached_property
    def errors(self) -> dict[str, type[BaseException]]:
        """The errors that modules of the package define, by their names."""
        return {
            name: kind
            for module, names in self._namespaces.items()
            for name, kind in names.items()
            if isinstance(kind, type) and issubclass(kind, BaseException)
            if kind.__module__ == module
        }

    def namespace(self, module: str) -> Namespace:
        """Return the objects that the names of a module stand for."""
        return self._namespaces.get(module, {})


class _Body:
    """The body of a function, in which names stand for objects and variables have types."""

    def __init__(
        self,
        package: Package,
        node: Definition,
        function: FunctionType,
        owner: type | None,
        depth: int,
    ) -> None:
        self._package = package
        self._node = node
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._namespace = package.namespace(function.__module__)
        self._depth = depth
        self._types: dict[str, type] = {}
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            self._declare(argument.arg, _annotated(argument.annotation, self._namespace))
        if owner is not None and arguments and arguments[0].arg in ("self", "cls"):
            self._types[arguments[0].arg] = owner
        for each in ast.walk(node):
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                self._declare(each.targets[0].id, self._type_of(each.value))

    def _declare(self, name: str, kind: type | None) -> None:
        if kind is not None:
            self._types[name] = kind

    def raised(self) -> Iterator[RaisedError]:
        for child in self._node.body:
            yield from self._visit(child, ())

    def _visit(self, node: ast.AST, caught: Errors) -> Iterator[RaisedError]:
        """Yield the errors that leave a node, inside of handlers that catch some."""
        if isinstance(node, Definition | ast.Lambda):
            return  # it is called later, if ever
        caught_inside = (*caught, *self.caught_by(node))
        for each in self._raised_by(node):
            if not issubclass(each.error, caught):
                yield each
        for child in ast.iter_child_nodes(node):
            is_inside = not isinstance(node, ast.Try) or child in node.body
            yield from self._visit(child, caught_inside if is_inside else caught)

    def _raised_by(self, node: ast.AST) -> Iterator[RaisedError]:
        """Yield the errors of a ``raise`` statement, or of the functions that a node calls."""
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = self._error_of(node.exc)
            if error is not None and error not in _UNSPECIFIC:
                yield RaisedError(error, self._name, node.lineno)
        for function in self._called(node) if self._depth else ():
            yield from self._package.raised(function, depth=self._depth - 1)

    def caught_by(self, node: ast.AST) -> Iterator[type[BaseException]]:
        """Yield the errors that do not leave the body of ``try`` or of ``with suppress(...)``."""
        for handler in node.handlers if isinstance(node, ast.Try) else ():
            statements = list(ast.walk(handler))
            if not any(isinstance(each, ast.Raise) and each.exc is None for each in statements):
                yield from self._errors_of(handler.type)
        for item in node.items if isinstance(node, ast.With) else ():
            if isinstance(item.context_expr, ast.Call):
                function = self._resolved(item.context_expr.func)
                if function is suppress:
                    for argument in item.context_expr.args:
                        yield from self._errors_of(argument)
                yield from self._package.caught_by_context(_function_of(function))

    def _errors_of(self, node: ast.expr | None) -> Iterator[type[BaseException]]:
        """Yield the classes that ``except`` names: one, several, or those of a constant."""
        node = node.value if isinstance(node, ast.Starred) else node
        constant = self._resolved(node)
        if isinstance(node, ast.Tuple):
            for each in node.elts:
                yield from self._errors_of(each)
        elif isinstance(constant, tuple):
            yield from constant
        elif (error := self._error_of(node)) is not None:
            yield error

    def _error_of(self, node: ast.expr | None) -> type[BaseException] | None:
        """Return the class of an error that is raised or caught; None if that is not known."""
        known = self._resolved(node)
        kind = known if isinstance(known, type) else self._type_of(node)
        return kind if kind is not None and issubclass(kind, BaseException) else None

    def _called(self, node: ast.AST) -> Iterator[FunctionType]:
        """Yield the functions of the package that an expression itself calls."""
        if isinstance(node, ast.Call):
            called = self._resolved(node.func)
            names = ("__init__", "__post_init__") if isinstance(called, type) else ()
            candidates = [inspect.getattr_static(called, name, None) for name in names]
            for each in (*candidates, called):
                if (function := _function_of(each)) is not None:
                    yield function
        elif isinstance(node, ast.Attribute):
            owner = self._type_of(node.value)
            member = inspect.getattr_static(owner, node.attr, None) if owner else None
            is_property = isinstance(member, property) or hasattr(member, "func")
            if is_property and (function := _function_of(member)) is not None:
                yield function

    def _resolved(self, node: ast.expr | None) -> Any:
        """Return the module, class or function that an expression names; None if it is another."""
        if isinstance(node, ast.Name):
            if node.id in self._types and node.id != "cls":
                return None
            known = self._types.get(node.id, self._namespace.get(node.id))
            return getattr(builtins, node.id, None) if known is None else known
        if isinstance(node, ast.Attribute):
            owner = self._type_of(node.value) or self._resolved(node.value)
            if isinstance(owner, type):
                return inspect.getattr_static(owner, node.attr, None)
            return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
        return None

    def _type_of(self, node: ast.expr | None) -> type | None:
        """Return the class of the value of an expression; None if it is not known."""
        if isinstance(node, ast.Name):
            return self._types.get(node.id)
        if isinstance(node, ast.Call):
            called = self._resolved(node.func)
            return called if isinstance(called, type) else self._result(_function_of(called))
        if isinstance(node, ast.Attribute):
            owner = self._type_of(node.value)
            if owner is None:
                return None
            for each in owner.__mro__:
                annotation = inspect.get_annotations(each).get(node.attr)
                if isinstance(annotation, str):
                    parsed = ast.parse(annotation, mode="eval").body
                    return _annotated(parsed, self._package.namespace(each.__module__))
            return self._result(_function_of(inspect.getattr_static(owner, node.attr, None)))
        return None

    def _result(self, function: FunctionType | None) -> type | None:
        if function is None:
            return None
        annotation = function.__annotations__.get("return")
        if not isinstance(annotation, str):
            return annotation if isinstance(annotation, type) else None
        parsed = ast.parse(annotation, mode="eval").body
        return _annotated(parsed, self._package.namespace(function.__module__))


def _annotated(node: ast.expr | None, namespace: Namespace) -> type | None:
    """Return the class that an annotation names, alone or beside None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = [each for each in (node.left, node.right) if ast.unparse(each) != "None"]
        return _annotated(parts[0], namespace) if len(parts) == 1 else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _annotated(ast.parse(node.value, mode="eval").body, namespace)
    if isinstance(node, ast.Name):
        known = namespace.get(node.id)
        return known if isinstance(known, type) else None
    return None


def _function_of(member: object) -> FunctionType | None:
    """Return the function behind a method, a property or a cache."""
    for name in ("fget", "func", "__func__"):
        member = getattr(member, name, None) or member
    member = inspect.unwrap(member) if callable(member) else member
    return member if isinstance(member, FunctionType) else None


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Yield the functions and methods of a module with their qualified names."""

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
        for node in body:
            if isinstance(node, Definition):
                yield prefix + node.name, node
            elif isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{prefix}{node.name}.")

    yield from walk(tree.body, "")


def _attributes(tree: ast.Module) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _late_imports(module: Module, modules: Mapping[str, Module]) -> set[str]:
    return {source for _, source, _ in bindings(module, dict(modules))}


def _implements(kind: type, protocol: type, member: str) -> bool:
    """Return whether a class has the members of a protocol, the given one among them."""
    names = [name for name in vars(protocol) if not name.startswith("_")]
    fields = {name for each in kind.__mro__ for name in inspect.get_annotations(each)}
    return member in names and all(hasattr(kind, name) or name in fields for name in names)


def _docstring(kind: type, member: str) -> str:
    """Return the docstring of a method, or the one that it inherits."""
    texts = (inspect.getattr_static(each, member, None) for each in kind.__mro__)
    return next(filter(None, (inspect.getdoc(_function_of(each)) for each in texts)), "") or ""


def documented_errors(docstring: str) -> list[str]:
    """Return the names of the errors in the section ``Raises:`` of a docstring."""
    section = re.search(r"^( *)Raises:\n((?:\1 +.*\n|\n)*)", f"{docstring}\n", re.MULTILINE)
    if section is None:
        return []
    lines = section[2].splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    heads = [
        line[indent:].partition(":")[0] for line in lines if re.match(rf" {{{indent}}}\w", line)
    ]
    names = [name.rpartition(".")[2] for head in heads for name in re.findall(r"[\w.]+", head)]
    return [name for name in names if name[:1].isupper()]


@functools.cache
def load_package() -> Package:
    """Return this package."""
    return Package(load_modules())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    functions = load_package().shared_functions
    for each in random.Random(given.seed).sample(functions, given.count):
        signature = inspect.signature(each.function)
        sys.stdout.write(
            f"{each.name}{signature}\n    {each.docstring}\n\n".replace("\n", "\n    ")
        )
        sys.stdout.write("\n")
