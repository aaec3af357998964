"""Names in texts of Spark SQL, without a parser: every word may be a column, or a field of one.

A text is clear only if each of its bare words is known: a keyword that uses no column by itself, or
a name by its place. Everything else may be syntax that uses columns which it does not name.

A word is a name

- after a sign, or after a keyword of `_OPENERS`, if no other name or text follows it;
- as an alias, which comes after a bracket, a text, or a name that is given, dotted or quoted, if
  the end of a list or a clause of `_AFTER_ALIAS` follows it, or a dot somewhere else in the text.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from hudi_pyspark.spark.hints import Path

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
# A name, a value or a bracket follows.
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
# Their arguments are no values but texts that choose columns.
_NOT_FUNCTIONS = frozenset({"COLUMNS", "IDENTIFIER"})
# JOIN is none of them: the word before it may be NATURAL.
_AFTER_ALIAS = frozenset(
    {"", ")", ",", ";", "FROM", "GROUP", "HAVING", "LIMIT", "ON", "ORDER", "UNION", "WHERE"}
)


class UnclearError(Exception):
    """What is read does not say which columns it needs."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """A name or a sign, for comparisons; "" for texts and the ends."""
        return self.text.upper() if self.kind in ("name", "sign") else ""

    @property
    def is_keyword(self) -> bool:
        return self.word in _KEYWORDS

    @property
    def is_bare(self) -> bool:
        """Whether a later Spark might take the word for a keyword, which this module lacks."""
        return self.kind == "name" and self.text.isidentifier() and not self.is_keyword

    @property
    def is_value(self) -> bool:
        """Whether this is a value, or the name of one."""
        return self.kind in ("quoted", "text") or (self.kind == "name" and not self.is_keyword)

    @property
    def opens(self) -> bool:
        """Whether what follows is the beginning of a value."""
        is_sign = self.kind == "sign" and self.text not in ")]"
        return is_sign or self.kind == "end" or self.word in _OPENERS


@dataclass(frozen=True, slots=True)
class SqlNames:
    """What a text uses."""

    paths: frozenset[Path]  # dotted names, words in comments and what double quotes contain
    has_star: bool  # all columns of something


def scan_statement(text: str, given: Collection[str] = ()) -> SqlNames:
    """Return the names in a statement; UnclearError if it may use columns that it does not name.

    ``given`` are names of relations, in lower case.
    """
    tokens, paths = _tokens_of(text)
    if tokens[1].word not in _STATEMENTS:
        raise UnclearError(f"a statement that begins with {tokens[1].text!r}")
    return _checked(tokens, paths, given)


def scan_expression(text: str) -> SqlNames:
    """Return the names in an expression, as `scan_statement` does."""
    return _checked(*_tokens_of(text), ())


def unquoted(part: str) -> str:
    """Return a part of a name without its backticks."""
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def _tokens_of(text: str) -> tuple[list[_Token], set[Path]]:
    """Return the tokens of a text, without comments but with ends, and the names in it."""
    tokens = [_Token("end", "", -1)]
    paths: set[Path] = set()
    for match in _TOKEN.finditer(text):
        kind, written = match.lastgroup, match[0]
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


def _path(name: str) -> Path:
    parts = _PART.findall(name)
    if any(_REGEX.search(quoted) for quoted, _ in parts):
        raise UnclearError(f"{name} may be a regular expression")
    return tuple((quoted.replace("``", "`") or plain).lower() for quoted, plain in parts)


def _checked(tokens: list[_Token], paths: set[Path], given: Collection[str]) -> SqlNames:
    known = {path[0] for path in paths if len(path) > 1}.union(given)
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.is_bare and not _is_name(before, token, after, known):
            raise UnclearError(f"unknown syntax at {token.text} {after.text}")
        if token.word == "TABLE" and before.word not in _BEFORE_TABLE:
            raise UnclearError("a table as a query")
        is_adjacent = token.start == before.start + 1
        if is_adjacent and before.word + token.word in ("|>", "--", "/*"):
            raise UnclearError("a pipe, or a comment that does not end")
    _check_queries(tokens)
    return SqlNames(frozenset(paths), _has_star(tokens))


def _is_name(before: _Token, token: _Token, after: _Token, known: Collection[str]) -> bool:
    """Return whether a word is a name by its place: see the table above."""
    if after.word == "(" and token.word in _NOT_FUNCTIONS:
        return False
    if before.opens:
        return not after.is_value or (after.kind == "name" and token.text.lower() in known)
    if before.is_bare and before.text.lower() not in known:
        return False
    return after.word in _AFTER_ALIAS or token.text.lower() in known


def _check_queries(tokens: list[_Token]) -> None:
    """Refuse a FROM that belongs to no SELECT: it is a query of all columns."""
    queries = [("", False)]  # for each open bracket the word before it, and SELECT without FROM
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
    """Return whether a star means columns, other than as a product or in ``count(*)``."""
    for i, token in enumerate(tokens):
        if token.word != "*":
            continue
        before, after = tokens[i - 1], tokens[i + 1]
        counts = (tokens[i - 2].word, before.word, after.word) == ("COUNT", "(", ")")
        is_product = (before.is_value or before.word == ")") and (
            after.is_value or after.word in ("(", "-", "CASE")
        )
        if not (counts or is_product):
            return True
    return False
