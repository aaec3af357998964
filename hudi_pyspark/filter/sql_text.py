"""Parse filters that are written like the WHERE clause of Spark SQL."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.exact_decimals import parse_decimal
from hudi_pyspark.filter.literals import (
    LiteralValue,
    check_same_type,
    compare,
    is_in,
    parse_date,
    parse_time,
)
from hudi_pyspark.filter.predicate import (
    And,
    Comparison,
    IsNull,
    Like,
    Operator,
    Or,
    Predicate,
    negate,
)
from hudi_pyspark.format.column_names import case_variants, resolve_field

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>(?:(?i:DATE|TIMESTAMP|TIMESTAMP_NTZ|X)\s*)?(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"))
  | (?P<name>`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)* | [^\W\d]\w*(?:\.\w+)*)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<sign><=>|!(?!=)|<=|>=|<>|!=|==|=|<|>|::|\(|\)|,|[-+*/%&|^~:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = {
    **{operator.value: operator for operator in Operator},
    "==": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
}
_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "TRUE", "FALSE"})
# Signs and words of SQL that a filter may not have.
_UNSUPPORTED = re.compile(
    r"::|[-+*/%&|^~:]|all|any|case|collate|current_date|current_timestamp|distinct|div|escape|exists|"
    r"ilike|interval|regexp|rlike|select|similar|unknown|xor",
    re.IGNORECASE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}


def parse_filter(text: str, schema: pa.Schema, *, is_exact: bool = False) -> Predicate:
    """Parse a filter such as ``city = 'sf' AND (fare > 10 OR driver IS NULL)``.

    Supported are comparisons of a column with a literal (``= == <=> != <> < <= > >=``), ``[NOT]
    IN``, ``[NOT] BETWEEN``, ``[NOT] LIKE``, ``IS [NOT] NULL``, boolean columns, ``AND``, ``OR``,
    ``NOT`` and brackets. Literals are numbers, quoted texts, ``true``, ``false``, ``DATE '…'``,
    ``TIMESTAMP '…'`` and ``X'…'``. Column names match in any case; backticks quote them. Text that
    is compared with a date or a timestamp is parsed like a literal of that type, as Spark does with
    ``spark.sql.ansi.enabled``.

    Args:
        text: the condition, with any number of terms, and AND and OR nested to any depth.
        schema: of the rows.
        is_exact: refuse what Spark would decide by its session's settings: a literal of another
            type than its column, and a name in another case. Whole numbers may be compared with
            other numbers.

    Raises:
        InvalidOptionError: the text cannot be parsed, or compares what cannot be compared.
    """
    return _Parser(text, schema, is_exact=is_exact).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or sign of the text."""

    kind: str  # name, number, text, sign, or end
    text: str
    position: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "name" and self.text.upper() in words


@dataclass(slots=True)
class _Level:
    """The conditions between two brackets: alternatives (OR) of parts (AND).

    A negation is pushed down to the parts, so within a negated bracket AND and OR change places.
    """

    is_negated: bool  # by an odd number of NOTs before this bracket and outer ones
    alternatives: list[list[Predicate]] = field(default_factory=lambda: [[]])

    def add(self, part: Predicate) -> None:
        # Redundant brackets leave no level behind.
        within = Or if self.is_negated else And
        self.alternatives[-1] += part.parts if isinstance(part, within) else [part]

    def close(self) -> Predicate:
        within, between = (Or, And) if self.is_negated else (And, Or)
        parts: list[Predicate] = []
        for alternative in self.alternatives:
            one = alternative[0] if len(alternative) == 1 else within(tuple(alternative))
            parts += one.parts if isinstance(one, between) else [one]
        return parts[0] if len(parts) == 1 else between(tuple(parts))


class _Parser:
    """Parses with a stack of open brackets instead of recursion, so any nesting depth works."""

    def __init__(self, text: str, schema: pa.Schema, *, is_exact: bool) -> None:
        self._text = text
        self._schema = schema
        self._is_exact = is_exact
        self._tokens = self._tokenize()
        self._next = 0

    def _tokenize(self) -> list[_Token]:
        tokens = []
        position = 0
        end = len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                remaining_text = self._text[position:].lstrip()
                raise self._error(f"unexpected {remaining_text!r}")
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return [*tokens, _Token("end", "", end)]

    def parse(self) -> Predicate:
        levels = [_Level(is_negated=False)]
        while True:
            is_negated = levels[-1].is_negated
            while self._accept("NOT") or self._accept("!"):
                is_negated = not is_negated
            if self._accept("("):
                levels.append(_Level(is_negated=is_negated))
                continue
            operand = self._comparison()
            levels[-1].add(negate(operand) if is_negated else operand)
            while len(levels) > 1 and self._accept(")"):
                closed = levels.pop().close()
                levels[-1].add(closed)
            if self._accept("OR"):
                levels[-1].alternatives.append([])
            elif not self._accept("AND"):
                if len(levels) > 1:
                    raise self._unexpected("')'")
                if self._peek().kind != "end":
                    raise self._unexpected("AND, OR or the end")
                return levels[0].close()

    def _comparison(self) -> Predicate:
        token = self._peek()
        is_literal = token.kind in {"number", "text"} or token.is_word("TRUE", "FALSE", "NULL")
        if is_literal or token.text in {"+", "-"}:
            literal = self._literal()
            if self._peek().text not in _SIGNS:
                raise self._unexpected("a comparison")
            sign = _SIGNS[self._take().text]
            return self._compare(self._column(), sign.flipped, literal)
        column = self._column()
        token = self._peek()
        if token.text in _SIGNS or token.text == "<=>":
            self._next += 1
            return self._compare_sign(column, token.text)
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return IsNull(column.name, negated)
        if self._accept("NOT"):
            return negate(self._list_or_range(column))
        if self._peek().is_word("IN", "BETWEEN", "LIKE"):
            return self._list_or_range(column)
        if token.kind != "end" and not token.is_word("AND", "OR") and token.text != ")":
            raise self._unexpected("a comparison")
        if not pa.types.is_boolean(column.type):
            raise self._error(
                f"column {column.name!r} of type {column.type} is not a condition. Compare it with "
                f"a literal, or write {column.name} IS NOT NULL"
            )
        return self._compare(column, Operator.EQUAL, literal=True)

    def _compare(self, column: pa.Field, sign: Operator, literal: LiteralValue) -> Comparison:
        if self._is_exact:
            check_same_type(column, literal)
        return compare(column, sign, literal)

    def _compare_sign(self, column: pa.Field, sign: str) -> Predicate:
        if self._peek().is_word("NULL"):
            if sign != "<=>":
                advice = f"write {column.name} IS NULL"
                raise self._error(f"a comparison with NULL is never true; {advice}")
            self._next += 1
            return IsNull(column.name)
        literal = self._literal()
        if sign == "<=>":
            equal = self._compare(column, Operator.EQUAL, literal)
            return And((IsNull(column.name, is_negated=True), equal))  # false where it is null
        return self._compare(column, _SIGNS[sign], literal)

    def _list_or_range(self, column: pa.Field) -> Predicate:
        if self._accept("IN"):
            self._expect("(")
            literals = [self._literal()]
            while self._accept(","):
                literals.append(self._literal())
            self._expect(")")
            if self._is_exact:
                for literal in literals:
                    check_same_type(column, literal)
            return is_in(column, literals)
        if self._accept("BETWEEN"):
            low = self._literal()
            self._expect("AND")
            high = self._literal()
            ends = (Operator.GREATER_OR_EQUAL, low), (Operator.LESS_OR_EQUAL, high)
            return And(tuple(self._compare(column, *end) for end in ends))
        if self._accept("LIKE"):
            pattern = self._literal()
            compare(column, Operator.EQUAL, pattern)  # refuses a pattern that is not text
            if not pa.types.is_string(column.type):
                raise self._error(f"column {column.name!r} of type {column.type} is not text")
            return Like(column.name, str(pattern))
        raise self._unexpected("IN, BETWEEN or LIKE")

    def _column(self) -> pa.Field:
        token = self._peek()
        if token.kind != "name" or token.is_word(*_KEYWORDS):
            raise self._unexpected("a column")
        self._next += 1
        written = re.sub(r"`((?:[^`]|``)+)`", lambda m: m[1].replace("``", "`"), token.text)
        if self._peek().text == "(":
            raise self._unsupported_function(written)
        try:
            column = resolve_field(written, self._schema)
        except InvalidOptionError as error:
            if _UNSUPPORTED.fullmatch(token.text):
                self._next -= 1
                raise self._unexpected("a column") from None
            raise self._error(error.reason()) from None
        if self._is_exact and column.name != written:
            raise self._error(f"{written} is spelled {column.name}")
        return column

    def _literal(self) -> LiteralValue:
        if self._peek().kind == "text":
            return self._text_literal(self._take().text)
        if self._peek().is_word("TRUE", "FALSE"):
            return self._take().text.upper() == "TRUE"
        sign = self._take().text if self._peek().text in {"+", "-"} else ""
        if self._peek().kind == "number":
            return _number(sign + self._take().text)
        raise self._unexpected(
            "a number, a quoted text, true, false, DATE '…' or TIMESTAMP '…'",
            or_column=True,
        )

    def _text_literal(self, written: str) -> LiteralValue:
        """Return a quoted text, or what the word before it makes of it."""
        begin = min(place for quote in "'\"" if (place := written.find(quote)) >= 0)
        kind = written[:begin].strip().upper()
        quote = written[begin]
        inner = written[begin + 1 : -1].replace(quote * 2, quote)
        text = re.sub(r"\\(.)", _unescaped, inner, flags=re.DOTALL)
        try:
            return _TYPED_TEXTS[kind](text) if kind else text
        except (ValueError, OverflowError) as error:
            raise self._error(f"{text!r}: {error}") from None

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, text: str) -> bool:
        """Take the next token if it is this keyword or sign; a quoted name is neither."""
        token = self._peek()
        is_there = token.kind in {"name", "sign"} and token.text.upper() == text
        self._next += is_there
        return is_there

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(text if text.isalpha() else repr(text))

    def _unsupported_function(self, name: str) -> InvalidOptionError:
        argument = self._tokens[self._next + 1].text.strip("`")
        names = self._schema.names
        column = next(iter(case_variants([argument], names)), names[0])
        data_type = self._schema.field(column).type
        begin, end = "1", "10"
        if pa.types.is_date(data_type):
            begin, end = "DATE '1998-01-01'", "DATE '1999-01-01'"
        elif pa.types.is_timestamp(data_type):
            zone = "Z" if data_type.tz else ""
            begin, end = (f"TIMESTAMP '{year}-01-01 00:00:00{zone}'" for year in (1998, 1999))
        elif pa.types.is_string(data_type):
            begin, end = "'a'", "'b'"
        return self._error(
            f"functions such as {name} are not supported. Compare the column itself, e.g. "
            f"{column} >= {begin} AND {column} < {end}"
        )

    def _unexpected(self, expected: str, *, or_column: bool = False) -> InvalidOptionError:
        """Return the error for the next token; with ``or_column``, a column is not supported."""
        token = self._peek()
        is_column = or_column and token.text in self._schema.names
        if is_column or _UNSUPPORTED.fullmatch(token.text):
            return self._error(
                f"{token.text!r} at character {token.position + 1} is not supported: a filter "
                "compares columns with literals. Filter in Spark (where) or DuckDB (to_duckdb)"
            )
        actual = repr(token.text) if token.kind != "end" else "the end"
        return self._error(f"expected {expected} at character {token.position + 1}, found {actual}")

    def _error(self, problem: str) -> InvalidOptionError:
        return InvalidOptionError(f"filter {self._text!r}: {problem}")


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        return float(text)
    value = parse_decimal(text)
    return value if "." in text else int(value)


def _unescaped(match: re.Match[str]) -> str:
    # \% and \_ keep their backslash, which LIKE needs.
    return match[0] if match[1] in "%_" else _ESCAPES.get(match[1], match[1])


_TYPED_TEXTS: dict[str, Callable[[str], LiteralValue]] = {
    "DATE": parse_date,
    "TIMESTAMP": parse_time,
    "TIMESTAMP_NTZ": parse_time,
    "X": bytes.fromhex,
}
