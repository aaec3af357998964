"""Mutants: small defects, each a replacement of some bytes in one function of a module."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from verification.common.data import load_data

Node: TypeAlias = ast.expr | ast.stmt | ast.keyword  # has a place in the text
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_DATA = load_data(__file__, "mutants.toml")
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    getattr(ast, name): tuple(signs) for name, signs in _DATA["operators"].items()
}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_PAIRS = _DATA["calls"]["pairs"]
CALLS: dict[str, str] = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
UNWRAPPED: list[str] = _DATA["calls"]["unwrapped"]  # f(x, ...) becomes x
_CHECKS = ("strict",)  # of zip: what it would raise for cannot happen
# What these say is for people; tests match parts of it.
MESSAGES = re.compile(r"_?log(ger)?\.|warnings\.|.*(Error|Invalid|report|announce)\b")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defect."""

    path: Path
    function: str  # module and qualified name
    unit: tuple[str, int]  # name and first line of the outermost function, with its decorators
    lines: range  # of the statement; of its header where it has a body
    begin: int  # bytes, until end: what is replaced
    end: int
    text: str  # what replaces it
    before: str  # the lines, without indentation
    after: str
    ordinal: int = 0  # among mutants that are otherwise equal

    @property
    def id(self) -> str:
        """Eight hexadecimal digits, the same wherever the function moves."""
        key = f"{self.function}\n{self.before}\n{self.after}\n{self.ordinal}"
        return hashlib.sha256(key.encode()).hexdigest()[:8]

    def source(self) -> bytes:
        """Return the module with the defect."""
        data = self.path.read_bytes()
        return data[: self.begin] + self.text.encode() + data[self.end :]


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module's functions, in the order of its text."""
    mutator = Mutator(path)
    mutator.visit(ast.parse(path.read_bytes()))
    numbers: Counter[str] = Counter()
    made = []
    for mutant in sorted(mutator.found, key=lambda found: (found.begin, found.end, found.text)):
        made.append(replace(mutant, ordinal=numbers[mutant.id]))
        numbers[mutant.id] += 1
    return made


class Mutator(ast.NodeVisitor):
    """Finds the mutants of a module: what each kind of node becomes."""

    def __init__(self, path: Path) -> None:
        self.found: list[Mutant] = []
        self._path = path
        self._data = path.read_bytes()
        self._starts = [0]  # of lines, in bytes
        for line in self._data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._names = [path.stem]
        self._unit: Function | None = None
        self._statement = ast.stmt()

    def visit(self, node: ast.AST) -> None:
        """Find the mutants of a node, as parts of the innermost statement and function."""
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._visit_function(node)
            case ast.ClassDef():
                self._visit_body(node)
            case ast.Raise():
                self._replace(node, "pass")
            case ast.AnnAssign(value=value):
                self.visit(value or node.target)
            case _ if not self._is_message(node):
                self._mutate_statement(node)
                self._mutate_expression(node)
                self.generic_visit(node)
        self._statement = outer

    def _visit_function(self, node: Function) -> None:
        outer = self._unit
        self._unit = outer or node
        self._visit_body(node)
        self._unit = outer

    def _visit_body(self, node: Function | ast.ClassDef) -> None:
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def _mutate_statement(self, node: ast.AST) -> None:
        match node:
            case ast.Expr(value=ast.Call()) if not self._is_message(node.value):
                self._replace(node, "pass")
            case ast.Continue():
                self._replace(node, "break")
            case ast.Break():
                self._replace(node, "continue")
            case ast.AugAssign() if type(node.op) in OPERATORS:
                old, new = OPERATORS[type(node.op)]
                self._swap(node.target, node.value, f"{old}=", f"{new}=")

    def _mutate_expression(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp() if type(node.op) in OPERATORS:
                self._swap(node.left, node.right, *OPERATORS[type(node.op)])
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
                begin = self._begin(node)
                self._add(begin, begin + (3 if isinstance(node.op, ast.Not) else 1), "")
            case ast.If() | ast.While() | ast.IfExp():
                self._negate(node.test)
            case ast.comprehension():
                self._negate(*node.ifs)
            case ast.Compare():
                self._mutate_comparison(node)
            case ast.BoolOp():
                self._mutate_conditions(node)
            case ast.Constant():
                self._mutate_constant(node)
            case ast.Call():
                self._mutate_call(node)

    def _mutate_comparison(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
            self._swap(left, right, *OPERATORS[type(operator)])

    def _mutate_conditions(self, node: ast.BoolOp) -> None:
        parts = [f"({self._text(value)})" for value in node.values]
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._replace(node, "(" + f" {new} ".join(parts) + ")")
        for place in range(len(parts)):
            self._replace(node, "(" + f" {old} ".join(parts[:place] + parts[place + 1 :]) + ")")

    def _mutate_constant(self, node: ast.Constant) -> None:
        value = node.value
        is_docstring = self._text(node).startswith('"""')
        if isinstance(value, bool):
            self._replace(node, str(not value))
        elif isinstance(value, int):
            self._replace(node, str(value + 1))
        elif isinstance(value, str) and " " not in value and not is_docstring:
            self._replace(node, repr(value + "~"))

    def _mutate_call(self, node: ast.Call) -> None:
        name = self._text(node.func).rpartition(".")[2]
        if name in CALLS:
            end = self._end(node.func)
            self._add(end - len(name.encode()), end, CALLS[name])
        if name in UNWRAPPED and node.args:
            self._replace(node, f"({self._text(node.args[0])})")
        for keyword in node.keywords if name.islower() else []:
            if keyword.arg is not None and keyword.arg not in _CHECKS:
                end = self._end(keyword)
                comma = re.match(r"\s*,", self._between(end, self._end(node)))
                self._add(self._begin(keyword), end + (comma.end() if comma else 0), "")

    def _is_message(self, node: ast.AST) -> bool:
        """Return whether a node says something to people, or can have no other value."""
        match node:
            case ast.Call():
                return bool(MESSAGES.match(self._text(node.func)))
            case ast.keyword():
                return node.arg in _CHECKS
            case _:
                return isinstance(node, ast.JoinedStr)

    def _negate(self, *tests: ast.expr) -> None:
        for test in tests:
            match test:
                case ast.UnaryOp(op=ast.Not()):
                    pass  # is turned round where the operator is left out
                case ast.Compare(ops=[operator]) if not isinstance(operator, _ORDERS):
                    pass  # likewise, by the other operator
                case _:
                    self._replace(test, f"(not ({self._text(test)}))")

    def _swap(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Write another operator between two operands."""
        begin, end = self._end(left), self._begin(right)
        words = re.escape(old).replace(r"\ ", r"\s+")
        self._add(begin, end, re.sub(words, new, self._between(begin, end), count=1))

    def _replace(self, node: Node, text: str) -> None:
        self._add(self._begin(node), self._end(node), text)

    def _add(self, begin: int, end: int, text: str) -> None:
        """Add a mutant that replaces some bytes in a function."""
        unit = self._unit
        if unit is None:
            return
        first = min([unit.lineno, *(node.lineno for node in unit.decorator_list)])
        before = self._lines(begin, end, self._between(begin, end))
        after = self._lines(begin, end, text)
        where = self._path, ".".join(self._names), (unit.name, first), _header(self._statement)
        self.found.append(Mutant(*where, begin, end, text, before, after))

    def _begin(self, node: Node) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: Node) -> int:
        return self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def _text(self, node: Node) -> str:
        return self._between(self._begin(node), self._end(node))

    def _between(self, begin: int, end: int) -> str:
        return self._data[begin:end].decode()

    def _lines(self, begin: int, end: int, text: str) -> str:
        """Return the lines of some bytes, joined, with a text for the bytes."""
        first = self._data.rfind(b"\n", 0, begin) + 1
        last = self._data.find(b"\n", end)
        return " ".join((self._between(first, begin) + text + self._between(end, last)).split())


def _header(statement: ast.stmt) -> range:
    """Return the lines of a statement; of its header if it has a body."""
    first = statement.lineno
    bodies = [inner.lineno for inner in _statements_in(statement)]
    last = max(min(bodies) - 1, first) if bodies else statement.end_lineno or first
    return range(first, last + 1)


def _statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a body, without those deeper in them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements_in(child)
