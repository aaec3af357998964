"""Names in texts of Spark SQL, without a parser: every word may be a column, or a field of one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

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
# They use columns that they do not name, or name columns in other ways.
_IMPLICIT = frozenset(
    {"BEGIN", "EXECUTE", "IDENTIFIER", "MATCH_RECOGNIZE", "NATURAL", "PIVOT", "TABLE", "UNPIVOT"}
)
_HAS_FROM = frozenset({"EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM"})
_SET_OPERATORS = frozenset({"EXCEPT", "INTERSECT", "MINUS", "UNION"})
# TABLE after one of them does not mean all columns.
_STATEMENTS = frozenset(
    {
        "ALTER", "CACHE", "CREATE", "DROP", "INTO", "LAZY", "OVERWRITE", "REFRESH", "TRUNCATE",
        "UNCACHE",
    }
)  # fmt: skip
_BEFORE_STAR = frozenset({"ALL", "DISTINCT", "MAP", "REDUCE", "SELECT"})
_CLAUSES = frozenset(
    {
        "AND", "ANTI", "CROSS", "EXCEPT", "FULL", "GROUP", "HAVING", "IN", "INNER", "INTERSECT",
        "JOIN", "LATERAL", "LEFT", "LIMIT", "MINUS", "ON", "OR", "ORDER", "RIGHT", "SEMI", "THEN",
        "UNION", "USING", "WHEN", "WHERE",
    }
)  # fmt: skip
_VIEW = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+VIEW\s+(`[^`]+`|\w+)\s+"
    r"USING\s+`hudi-py`\s+OPTIONS\s*\((.*)\)\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_OPTION = re.compile(r"\s*([\w.-]+|`[^`]+`|'[^'\\]+')\s*(?:=|\s)\s*'([^'\\]*)'\s*(?:,|\Z)")


class UnclearError(Exception):
    """What is read does not say which columns it needs."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """A name or a sign, for comparisons; "" for texts."""
        return self.text.upper() if self.kind in ("name", "sign") else ""


@dataclass(frozen=True)
class SqlText:
    """The tokens of a text, without its comments."""

    text: str  # as given
    tokens: tuple[_Token, ...]  # with one of no word at either end
    paths: frozenset[Path]  # of dotted names, words in comments and what double quotes contain

    @cached_property
    def has_star(self) -> bool:
        """Whether the text uses all columns of something."""
        tokens = self.tokens
        for i, token in enumerate(tokens):
            before = tokens[i - 1]
            if token.word != "*" or (
                (tokens[i - 2].word, before.word, tokens[i + 1].word) == ("COUNT", "(", ")")
            ):
                continue
            is_product = before.word == ")" or before.kind in ("name", "text")
            if not is_product or before.word in _BEFORE_STAR:
                return True
        return False

    @property
    def kind(self) -> str:
        """The first word of the statement."""
        return self.tokens[1].word

    @property
    def makes_rows(self) -> bool:
        """Whether the statement writes the rows of a query to a table."""
        return self.kind == "INSERT" or (self.kind, self.tokens[2].word) == ("CREATE", "TABLE")

    def shows(self, paths: Iterable[Path]) -> bool:
        """Return whether the columns of a query, by its first list, surely have names from above.

        Spark finds other names below the list, but not behind common table expressions.
        """
        if self.kind == "WITH":
            return True
        names: set[str] = set()
        item: list[_Token] = []
        depth = 0
        for token in self.tokens[2:] if self.kind == "SELECT" else ():
            depth += (token.word == "(") - (token.word == ")")
            if depth or token.word not in (",", "FROM"):
                item.append(token)
                continue
            if item[-1].kind == "name" and (len(item) == 1 or item[-2].word == "AS"):
                names.add(_path(item[-1].text)[-1])
            item = []
            if token.word == "FROM":
                break
        return all(path[0] in names or path[0].isdigit() for path in paths)

    def reads(self, view: str) -> bool:
        """Return whether a view, in lower case, may be read, and never under names of columns."""
        plain = {
            self._is_plain(i)
            for i, token in enumerate(self.tokens)
            if token.kind == "name" and unquoted(token.text).lower() == view
        }
        return plain == {True}

    def _is_plain(self, place: int) -> bool:
        following = [token.word for token in self.tokens[place + 1 : place + 4]] + ["", ""]
        alias, bracket = following[following[0] == "AS" :][:2]
        return alias != "(" and (bracket != "(" or alias in _CLAUSES)

    def with_views(self, names: Mapping[str, str]) -> str | None:
        """Return the text with common table expressions that hide views; None if it can have none.

        ``names`` are those of the relations to read instead, by the name of the view.
        """
        first = 1
        words = [token.word for token in self.tokens]
        if self.makes_rows:
            starts = [i for i, word in enumerate(words) if word in ("SELECT", "WITH")]
            first = next((i for i in starts if words[:i].count("(") == words[:i].count(")")), 0)
        word = words[first]
        if word not in ("SELECT", "WITH", "(") or first == 0:
            return None
        tables = ", ".join(f"`{view}` AS (SELECT * FROM `{new}`)" for view, new in names.items())
        if word != "WITH":
            start = self.tokens[first].start
            return f"{self.text[:start]}WITH {tables} {self.text[start:]}"
        start = self.tokens[first + 1 + (words[first + 1] == "RECURSIVE")].start
        return f"{self.text[:start]}{tables}, {self.text[start:]}"


def scan_sql(text: str) -> SqlText:
    """Split a text into tokens; UnclearError if it may use columns that it does not name."""
    tokens = [_Token("end", "", 0)]
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
    tokens += [_Token("end", "", len(text))] * 2
    _check(tokens)
    return SqlText(text, tuple(tokens), frozenset(paths))


def unquoted(part: str) -> str:
    """Return a part of a name without its backticks."""
    return part[1:-1].replace("``", "`") if part.startswith("`") else part


def view_definition(text: str) -> tuple[str, dict[str, str]] | None:
    """Return view and options of ``CREATE TEMPORARY VIEW … USING `hudi-py` OPTIONS (…)``."""
    # `OR REPLACE` may be there; any other text gives None.
    match = _VIEW.fullmatch(text)
    if match is None or _OPTION.sub("", match[2]).strip():
        return None
    options = {name.strip("`'"): value for name, value in _OPTION.findall(match[2])}
    return unquoted(match[1]).lower(), options


def _path(name: str) -> Path:
    parts = _PART.findall(name)
    if any(_REGEX.search(quoted) for quoted, _ in parts):
        raise UnclearError(f"{name} may be a regular expression")
    return tuple((quoted.replace("``", "`") or plain).lower() for quoted, plain in parts)


def _check(tokens: list[_Token]) -> None:
    """Refuse what uses columns without names: queries without SELECT, pipes, pivots and so on."""
    queries = [("", 0)]  # for each open bracket the word before it, and SELECT without FROM so far
    for i, token in enumerate(tokens[1:], 1):
        before, word = tokens[i - 1], token.word
        opener, waiting = queries[-1]
        is_adjacent = token.start == before.start + 1
        if word == "(":
            queries.append((before.word, 0))
        elif word == ")":
            queries = queries[:-1] or [("", 0)]
        elif word in _IMPLICIT and not (word == "TABLE" and before.word in _STATEMENTS):
            raise UnclearError(word)
        elif is_adjacent and before.word + word in ("|>", "--", "/*"):
            raise UnclearError("a pipe, or a comment that does not end")
        elif word == "SELECT" or word in _SET_OPERATORS:
            queries[-1] = (opener, int(word == "SELECT"))
        elif word == "FROM" and opener not in _HAS_FROM:
            if before.word == "DISTINCT" and tokens[i - 2].word in ("IS", "NOT"):
                continue
            if not waiting:
                raise UnclearError("FROM without SELECT")
            queries[-1] = (opener, 0)
