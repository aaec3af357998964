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

Edit: TypeAlias = tuple[int, int, str]  # begin and end in the module's bytes, and the new text
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


class Source:
    """A module's text, addressed by the nodes of its syntax tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.tree = ast.parse(self.data)
        lines = self.data.split(b"\n")
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def begin(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def text(self, begin: int, end: int) -> str:
        return self.data[begin:end].decode()

    def of(self, node: ast.expr) -> str:
        return self.text(self.begin(node), self.end(node))

    def lines(self, begin: int, end: int, new: str | None = None) -> str:
        """Return the lines of some bytes, joined, with other text for the bytes if it is given."""
        first = self.data.rfind(b"\n", 0, begin) + 1
        last = self.data.find(b"\n", end)
        middle = self.text(begin, end) if new is None else new
        return " ".join((self.text(first, begin) + middle + self.text(end, last)).split())


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module's functions, in the order of its text."""
    source = Source(path)
    numbers: Counter[str] = Counter()
    made = []
    for mutant in sorted(_in_scope(source, source.tree, path.stem, None), key=_place):
        made.append(replace(mutant, ordinal=numbers[mutant.id]))
        numbers[mutant.id] += 1
    return made


def _place(mutant: Mutant) -> tuple[int, int, str]:
    return mutant.begin, mutant.end, mutant.text


def _in_scope(source: Source, scope: ast.AST, name: str, unit: Function | None) -> Iterator[Mutant]:
    """Yield the mutants of all functions within a module, class or function."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner, outermost = f"{name}.{node.name}", unit or node
            for statement in node.body:
                yield from _in_statement(source, statement, inner, outermost)
            yield from _in_scope(source, node, inner, outermost)
        elif isinstance(node, ast.ClassDef):
            yield from _in_scope(source, node, f"{name}.{node.name}", unit)
        elif unit is None and isinstance(node, ast.If):
            yield from _in_scope(source, node, name, unit)


def _in_statement(
    source: Source, statement: ast.stmt, function: str, unit: Function
) -> Iterator[Mutant]:
    """Yield the mutants of one statement, and of those in its body."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    bodies = [s for s in _statements_in(statement) if s is not statement]
    within = {id(node) for inner in bodies for node in ast.walk(inner)}
    last = max(min((s.lineno for s in bodies), default=0) - 1, statement.lineno)
    lines = range(statement.lineno, (last if bodies else statement.end_lineno or last) + 1)
    first = min([unit.lineno, *(node.lineno for node in unit.decorator_list)])
    for begin, end, text in (*_whole(source, statement), *_edits(source, statement, within)):
        yield Mutant(
            source.path, function, (unit.name, first), lines, begin, end, text,
            source.lines(begin, end), source.lines(begin, end, text),
        )  # fmt: skip
    for inner in bodies:
        yield from _in_statement(source, inner, function, unit)


def _statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a body, without those deeper in them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements_in(child)


def _whole(source: Source, statement: ast.stmt) -> Iterator[Edit]:
    """Yield what replaces a statement as a whole."""
    span = source.begin(statement), source.end(statement)
    match statement:
        case ast.Raise() | ast.Expr(value=ast.Call()):
            if not (isinstance(statement, ast.Expr) and _is_message(source, statement.value)):
                yield *span, "pass"
        case ast.Continue():
            yield *span, "break"
        case ast.Break():
            yield *span, "continue"
        case ast.AugAssign(op=operator) if type(operator) in OPERATORS:
            old, new = OPERATORS[type(operator)]
            yield _swapped(source, statement.target, statement.value, old + "=", new + "=")


def _is_message(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return True
    return isinstance(node, ast.Call) and bool(MESSAGES.match(source.of(node.func)))


def _edits(source: Source, node: ast.AST, without: set[int]) -> Iterator[Edit]:
    """Yield the edits of expressions under a node."""
    if id(node) in without or _is_message(source, node):
        return
    yield from _of_expression(source, node)
    for name, child in ast.iter_fields(node):
        if name in ("annotation", "decorator_list", "returns"):
            continue
        for item in child if isinstance(child, list) else [child]:
            if isinstance(item, ast.AST) and getattr(item, "arg", "") not in _CHECKS:
                yield from _edits(source, item, without)


def _of_expression(source: Source, node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
                yield _swapped(source, left, right, *OPERATORS[type(operator)])
        case ast.BinOp() if type(node.op) in OPERATORS:
            yield _swapped(source, node.left, node.right, *OPERATORS[type(node.op)])
        case ast.BoolOp():
            yield from _of_conditions(source, node)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            begin = source.begin(node)
            yield begin, begin + (3 if isinstance(node.op, ast.Not) else 1), ""
        case ast.Constant():
            yield from _of_constant(source, node)
        case ast.Call():
            yield from _of_call(source, node)
        case ast.If() | ast.While() | ast.IfExp() | ast.comprehension():
            for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
                yield from _negated(source, test)


def _negated(source: Source, test: ast.expr) -> Iterator[Edit]:
    match test:
        case ast.UnaryOp(op=ast.Not()):
            pass  # is turned round where the operator is left out
        case ast.Compare(ops=[operator]) if not isinstance(operator, _ORDERS):
            pass  # likewise, by the other operator
        case _:
            yield source.begin(test), source.end(test), f"(not ({source.of(test)}))"


def _swapped(source: Source, left: ast.expr, right: ast.expr, old: str, new: str) -> Edit:
    begin, end = source.end(left), source.begin(right)
    between = source.text(begin, end)
    words = re.escape(old).replace(r"\ ", r"\s+")
    return begin, end, re.sub(words, new, between, count=1)


def _of_conditions(source: Source, node: ast.BoolOp) -> Iterator[Edit]:
    parts = [f"({source.of(value)})" for value in node.values]
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    span = source.begin(node), source.end(node)
    yield *span, "(" + f" {new} ".join(parts) + ")"
    for place in range(len(parts)):
        yield *span, "(" + f" {old} ".join(parts[:place] + parts[place + 1 :]) + ")"


def _of_constant(source: Source, node: ast.Constant) -> Iterator[Edit]:
    span = source.begin(node), source.end(node)
    value = node.value
    if isinstance(value, bool):
        yield *span, str(not value)
    elif isinstance(value, int):
        yield *span, str(value + 1)
    elif isinstance(value, str) and " " not in value and not source.of(node).startswith('"""'):
        yield *span, repr(value + "~")


def _of_call(source: Source, node: ast.Call) -> Iterator[Edit]:
    name = source.of(node.func).rpartition(".")[2]
    if name in CALLS:
        end = source.end(node.func)
        yield end - len(name.encode()), end, CALLS[name]
    if name in UNWRAPPED and node.args:
        yield source.begin(node), source.end(node), f"({source.of(node.args[0])})"
    for keyword in node.keywords if name.islower() else []:
        if keyword.arg is not None and keyword.arg not in _CHECKS:
            end = source.end(keyword)
            comma = re.match(r"\s*,", source.text(end, source.end(node)))
            yield source.begin(keyword), end + (comma.end() if comma else 0), ""
