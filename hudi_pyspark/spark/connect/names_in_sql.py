"""Find the names in a text of Spark SQL, without a parser: any word may be a column or a field.

A text is clear only if each of its bare words is either a keyword that uses no column by itself, or
a name by its position. Any other word may be syntax that uses columns without naming them.

A word is a name in two positions:

- after a sign or a keyword of `_OPENERS`, unless a name or a text follows the word;
- as an alias: after a bracket, a text, or a name that is a relation, dotted or quoted. The end of a
  list or a clause of `_AFTER_ALIAS` follows an alias, or the alias has a dot elsewhere in the text.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from hudi_pyspark.spark.hints import FieldPath

_TOKEN = re.compile(
    r"""(?P<comment>--[^\r\n]*(?<!\\)(?=[\r\n]|\Z) | /\*(?:(?!/\*).)*?\*/)
    | (?P<text>[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*')
    | (?P<quoted>"(?:[^"\\]|\\.)*")
    | (?P<name>(?:`(?:[^`]|``)+`|\w+)(?:\s*\.\s*(?:`(?:[^`]|``)+`|\w+))*)
    | (?P<sign>[^\s\w'"`$])
    | \s+
    | (?P<unknown>.)""",
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
# Backticks may contain a regular expression for columns: spark.sql.parser.quotedRegexColumnNames.
_REGEX = re.compile(r"[|*+?^()\[\]{}\\]")
_STATEMENTS = frozenset({"CREATE", "INSERT", "SELECT", "WITH"})
# Keywords before a name, a value or a bracket.
_OPENERS = frozenset(
    {
        "ALL", "AND", "AS", "BETWEEN", "BOTH", "BY", "CASE", "COLLATE", "DISTINCT", "DIV", "ELSE",
        "ESCAPE", "EXISTS", "FROM", "HAVING", "ILIKE", "IN", "INTO", "JOIN", "LATERAL", "LEADING",
        "LIKE", "LIMIT", "NOT", "OFFSET", "ON", "OR", "OVER", "OVERWRITE", "RECURSIVE", "RLIKE",
        "SELECT", "TABLE", "THEN", "TRAILING", "USING", "VALUES", "WHEN", "WHERE", "WINDOW", "WITH",
    }
)  # fmt: skip
_KEYWORDS = _OPENERS | {
    "ANTI", "ASC", "CREATE", "CROSS", "CUBE", "CURRENT", "DATE", "DAY", "DAYS", "DESC", "END",
    "FALSE", "FILTER", "FIRST", "FOLLOWING", "FULL", "GROUP", "GROUPING", "HOUR", "HOURS", "IF",
    "IGNORE", "INNER", "INSERT", "INTERSECT", "INTERVAL", "IS", "LAST", "LEFT", "LOCATION",
    "MINUTE", "MINUTES", "MONTH", "MONTHS", "NULL", "NULLS", "OPTIONS", "ORDER", "OUTER",
    "PARTITION", "PARTITIONED", "PRECEDING", "RANGE", "REPLACE", "RESPECT", "RIGHT", "ROLLUP",
    "ROW", "ROWS", "SECOND", "SECONDS", "SEMI", "SETS", "TBLPROPERTIES", "TIMESTAMP", "TRUE",
    "UNBOUNDED", "UNION", "WEEK", "WEEKS", "WITHIN", "YEAR", "YEARS",
}  # fmt: skip
_HAS_FROM = frozenset({"EXTRACT", "SUBSTR", "SUBSTRING", "TRIM"})
_BEFORE_TABLE = frozenset({"CREATE", "INTO", "OVERWRITE", "REPLACE"})
# The arguments of these are texts that choose columns.
_NOT_FUNCTIONS = frozenset({"COLUMNS", "IDENTIFIER"})
# Without JOIN, since the word before JOIN may be NATURAL.
_AFTER_ALIAS = frozenset(
    {"", ")", ",", ";", "FROM", "GROUP", "HAVING", "LIMIT", "ON", "ORDER", "UNION", "WHERE"}
)


class UnclearError(Exception):
    """A text or a plan does not say which columns it needs."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The name or sign in upper case; "" for texts and ends."""
        return self.text.upper() if self.kind in ("name", "sign") else ""

    @property
    def is_keyword(self) -> bool:
        return self.word in _KEYWORDS

    @property
    def is_bare(self) -> bool:
        """Whether the word may be a keyword of a later Spark, which this module does not know."""
        return self.kind == "name" and self.text.isidentifier() and not self.is_keyword

    @property
    def is_value(self) -> bool:
        """Whether this is a value or a name."""
        return self.kind in ("quoted", "text") or (self.kind == "name" and not self.is_keyword)

    @property
    def opens(self) -> bool:
        """Whether a value may begin after this."""
        is_sign = self.kind == "sign" and self.text not in ")]"
        return is_sign or self.kind == "end" or self.word in _OPENERS


@dataclass(frozen=True, slots=True)
class SqlNames:
    """The names that a text uses."""

    # Dotted names, words in comments, and texts in double quotes; in lower case.
    paths: frozenset[FieldPath]
    has_star: bool  # whether the text uses all columns of a relation


def scan_statement(text: str, relations: Collection[str] = ()) -> SqlNames:
    """Return the names in a statement.

    Args:
        text: of SQL.
        relations: names of relations that the statement may use, in lower case.

    Raises:
        UnclearError: the statement may use columns that it does not name.
    """
    tokens, paths = _tokens_of(text)
    if tokens[1].word not in _STATEMENTS:
        raise UnclearError(f"a statement that begins with {tokens[1].text!r}")
    return _checked(tokens, paths, relations)


def scan_expression(text: str) -> SqlNames:
    """Return the names in an expression.

    Raises:
        UnclearError: the expression may use columns that it does not name.
    """
    return _checked(*_tokens_of(text), ())


def unquoted(part: str) -> str:
    """Return one part of a dotted name without its backticks."""
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def _tokens_of(text: str) -> tuple[list[_Token], set[FieldPath]]:
    """Split a text into tokens, with an end before and after them, and collect its names."""
    tokens = [_Token("end", "", -1)]
    paths: set[FieldPath] = set()
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        written = match[0]
        if kind == "unknown":
            raise UnclearError(f"unknown syntax at {text[match.start() :][:20]!r}")
        if kind == "comment":
            paths |= {(word.lower(),) for word in re.findall(r"\w+", written)}
        elif kind is not None:
            tokens.append(_Token(kind, written, match.start()))
        if kind == "name":
            paths.add(_path(written))
        elif kind == "quoted":
            paths.add((written[1:-1].lower(),))
    return [*tokens, _Token("end", "", len(text)), _Token("end", "", len(text))], paths


def _path(name: str) -> FieldPath:
    parts = _PART.findall(name)
    if any(_REGEX.search(quoted) for quoted, _ in parts):
        raise UnclearError(f"{name} may be a regular expression")
    return tuple((quoted.replace("``", "`") or plain).lower() for quoted, plain in parts)


def _checked(tokens: list[_Token], paths: set[FieldPath], relations: Collection[str]) -> SqlNames:
    """Return the names of a text; refuse a text that may use columns that it does not name."""
    qualifiers = {path[0] for path in paths if len(path) > 1}.union(relations)
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.is_bare and not _is_name(before, token, after, qualifiers):
            raise UnclearError(f"unknown syntax at {token.text} {after.text}")
        if token.word == "TABLE" and before.word not in _BEFORE_TABLE:
            raise UnclearError("a table as a query")
        is_adjacent = token.start == before.start + 1
        if is_adjacent and before.word + token.word in ("|>", "--", "/*"):
            raise UnclearError("a pipe, or a comment that does not end")
    _check_queries(tokens)
    return SqlNames(frozenset(paths), _has_star(tokens))


def _is_name(before: _Token, token: _Token, after: _Token, qualifiers: Collection[str]) -> bool:
    """Return whether a word is a name by its position: see the docstring of the module."""
    if after.word == "(" and token.word in _NOT_FUNCTIONS:
        return False
    if before.opens:
        return not after.is_value or (after.kind == "name" and token.text.lower() in qualifiers)
    if before.is_bare and before.text.lower() not in qualifiers:
        return False
    return after.word in _AFTER_ALIAS or token.text.lower() in qualifiers


def _check_queries(tokens: list[_Token]) -> None:
    """Refuse a FROM without a SELECT before it, which is a query of all columns."""
    # For each open bracket: the word before it, and whether a SELECT still waits for its FROM.
    queries = [("", False)]
    for i, token in enumerate(tokens):
        opener, is_waiting = queries[-1]
        if token.word == "(":
            queries.append((tokens[i - 1].word, False))
        elif token.word == ")":
            queries = queries[:-1] or [("", False)]
        elif token.word in ("SELECT", "UNION", "INTERSECT"):
            queries[-1] = (opener, token.word == "SELECT")
        elif token.word == "FROM" and opener not in _HAS_FROM:
            if tokens[i - 1].word == "DISTINCT" and tokens[i - 2].word in ("IS", "NOT"):
                continue
            if not is_waiting:
                raise UnclearError("FROM without SELECT")
            queries[-1] = (opener, False)


def _has_star(tokens: list[_Token]) -> bool:
    """Return whether a star means all columns; products and ``count(*)`` do not."""
    for i, token in enumerate(tokens):
        if token.word != "*":
            continue
        before = tokens[i - 1]
        after = tokens[i + 1]
        counts = (tokens[i - 2].word, before.word, after.word) == ("COUNT", "(", ")")
        is_product = (before.is_value or before.word == ")") and (
            after.is_value or after.word in ("(", "-", "CASE")
        )
        if not (counts or is_product):
            return True
    return False
