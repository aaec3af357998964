"""Parser of filters that are written as in a WHERE clause of Spark SQL."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.filter.predicate import (
    And,
    Comparison,
    IsNull,
    Joined,
    Like,
    Literal,
    Operator,
    Or,
    Predicate,
    check_same_type,
    compare,
    is_in,
    parse_date,
    parse_time,
    spelled_field,
)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)* | [^\W\d]\w*(?:\.\w+)*)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<text>'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
  | (?P<sign><=>|!(?!=)|<=|>=|<>|!=|==|=|<|>|\(|\)|,|-|\+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = {
    **{operator.value: operator for operator in Operator},
    "==": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
}
_KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "TRUE", "FALSE"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}


def parse_filter(text: str, schema: pa.Schema, *, is_exact: bool = False) -> Predicate:
    """Parse a filter such as ``city = 'sf' AND (fare > 10 OR driver IS NULL)``.

    Covered are comparisons of a column with a literal (``= == <=> != <> < <= > >=``), ``[NOT] IN``,
    ``[NOT] BETWEEN``, ``[NOT] LIKE``, ``IS [NOT] NULL``, boolean columns, ``AND``, ``OR``, ``NOT``
    and brackets; literals are numbers, quoted texts, ``true``, ``false``, ``DATE '…'``, ``TIMESTAMP
    '…'`` and ``X'…'``. Names of columns are matched in any case; backticks quote them. Text beside
    a date or a time is parsed like such a literal, as Spark does with ``spark.sql.ansi.enabled``.

    Args:
        text: the condition, with any number of terms, and AND and OR nested to any depth.
        schema: of the rows.
        is_exact: refuse what Spark would decide by settings of its session: each literal of another
            type than its column's, and a name in another case. Numbers without a fraction may stand
            beside other numbers.

    Raises:
        InvalidOptionError: the text is something else, or compares what cannot be compared.
    """
    return _Parser(text, schema, is_exact=is_exact).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # name, number, text, sign, or end
    text: str
    position: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "name" and self.text.upper() in words


class _Level:
    """The conditions between two brackets: alternatives, each of which has parts."""

    def __init__(self, *, is_negated: bool) -> None:
        self.is_negated = is_negated  # by this bracket and those around it: its parts are, too
        self._within: type[Joined] = Or if is_negated else And
        self._between: type[Joined] = And if is_negated else Or
        self._alternatives: list[list[Predicate]] = [[]]

    def add(self, part: Predicate) -> None:
        # Brackets that change nothing leave no level behind.
        self._alternatives[-1] += part.parts if isinstance(part, self._within) else [part]

    def begin_alternative(self) -> None:
        self._alternatives.append([])

    def close(self) -> Predicate:
        parts: list[Predicate] = []
        for alternative in self._alternatives:
            one = alternative[0] if len(alternative) == 1 else self._within(tuple(alternative))
            parts += one.parts if isinstance(one, self._between) else [one]
        return parts[0] if len(parts) == 1 else self._between(tuple(parts))


class _Parser:
    """Parser of conditions: a stack of open brackets, so that their number does not matter."""

    def __init__(self, text: str, schema: pa.Schema, *, is_exact: bool) -> None:
        self._text = text
        self._schema = schema
        self._is_exact = is_exact
        self._tokens = self._tokenize()
        self._next = 0

    def parse(self) -> Predicate:
        predicate = self._condition()
        if self._peek().kind != "end":
            raise self._wrong("AND, OR or the end")
        return predicate

    def _tokenize(self) -> list[_Token]:
        tokens, position = [], 0
        end = len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                rest = self._text[position:].lstrip()
                raise InvalidOptionError(f"filter {self._text!r}: unexpected {rest!r}")
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return [*tokens, _Token("end", "", end)]

    def _condition(self) -> Predicate:
        levels = [_Level(is_negated=False)]
        while True:
            is_negated = levels[-1].is_negated
            while self._accept("NOT") or self._accept("!"):
                is_negated = not is_negated
            if self._accept("("):
                levels.append(_Level(is_negated=is_negated))
                continue
            operand = self._comparison()
            levels[-1].add(operand.negate() if is_negated else operand)
            while len(levels) > 1 and self._accept(")"):
                closed = levels.pop().close()
                levels[-1].add(closed)
            if self._accept("OR"):
                levels[-1].begin_alternative()
            elif not self._accept("AND"):
                if len(levels) > 1:
                    raise self._wrong("')'")
                return levels[0].close()

    def _comparison(self) -> Predicate:
        if self._begins_literal():
            literal = self._literal()
            if self._peek().text not in _SIGNS:
                raise self._wrong("a comparison")
            sign = _SIGNS[self._take().text]
            return self._checked(*self._column(), sign.flipped, literal)
        column, data_type = self._column()
        token = self._peek()
        if token.text in _SIGNS or token.text == "<=>":
            self._next += 1
            return self._compare(column, data_type, token.text)
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return IsNull(column, negated)
        if self._accept("NOT"):
            return self._listed(column, data_type).negate()
        if self._peek().is_word("IN", "BETWEEN", "LIKE"):
            return self._listed(column, data_type)
        return self._checked(column, data_type, Operator.EQUAL, literal=True)  # a boolean column

    def _checked(
        self, column: str, data_type: pa.DataType, sign: Operator, literal: Literal
    ) -> Comparison:
        if self._is_exact:
            check_same_type(column, data_type, literal)
        return compare(column, data_type, sign, literal)

    def _compare(self, column: str, data_type: pa.DataType, sign: str) -> Predicate:
        if self._peek().is_word("NULL"):
            if sign != "<=>":
                raise InvalidOptionError(
                    f"filter {self._text!r}: a comparison with NULL is never true; write "
                    f"{column} IS NULL"
                )
            self._next += 1
            return IsNull(column)
        literal = self._literal()
        if sign == "<=>":
            equal = self._checked(column, data_type, Operator.EQUAL, literal)
            return And((IsNull(column, is_negated=True), equal))  # false where it is null
        return self._checked(column, data_type, _SIGNS[sign], literal)

    def _listed(self, column: str, data_type: pa.DataType) -> Predicate:
        if self._accept("IN"):
            self._expect("(")
            literals = [self._literal()]
            while self._accept(","):
                literals.append(self._literal())
            self._expect(")")
            if self._is_exact:
                for literal in literals:
                    check_same_type(column, data_type, literal)
            return is_in(column, data_type, literals)
        if self._accept("BETWEEN"):
            low = self._checked(column, data_type, Operator.GREATER_OR_EQUAL, self._literal())
            self._expect("AND")
            high = self._checked(column, data_type, Operator.LESS_OR_EQUAL, self._literal())
            return And((low, high))
        if self._accept("LIKE"):
            pattern = self._literal()
            compare(column, data_type, Operator.EQUAL, pattern)  # refuses other types than text
            return Like(column, str(pattern))
        raise self._wrong("IN, BETWEEN or LIKE")

    def _column(self) -> tuple[str, pa.DataType]:
        token = self._peek()
        if token.kind != "name" or token.is_word(*_KEYWORDS):
            raise self._wrong("a column")
        self._next += 1
        written = re.sub(r"`((?:[^`]|``)+)`", lambda m: m[1].replace("``", "`"), token.text)
        if self._peek().text == "(":
            raise self._function(written)
        try:
            field = spelled_field(written, self._schema)
        except InvalidOptionError as error:
            raise InvalidOptionError(f"filter {self._text!r}: {error.reason()}") from None
        if self._is_exact and field[0] != written:
            raise InvalidOptionError(f"filter {self._text!r}: {written} is spelled {field[0]}")
        return field

    def _begins_literal(self) -> bool:
        token = self._peek()
        is_one = token.kind in {"number", "text"} or token.is_word("TRUE", "FALSE", "NULL")
        return is_one or token.text in {"+", "-"} or self._is_typed_text()

    def _is_typed_text(self) -> bool:
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        return self._peek().is_word(*_TYPED_TEXTS) and following.kind == "text"

    def _literal(self) -> Literal:
        if self._is_typed_text():
            convert = _TYPED_TEXTS[self._take().text.upper()]
            text = _unquoted(self._take().text)
            try:
                return convert(text)
            except (ValueError, OverflowError) as error:
                raise InvalidOptionError(f"filter {self._text!r}: {text!r}: {error}") from None
        if self._accept("TRUE"):
            return True
        if self._accept("FALSE"):
            return False
        if self._peek().kind == "text":
            return _unquoted(self._take().text)
        sign = "-" if self._accept("-") else ""
        if not sign:
            self._accept("+")
        if self._peek().kind == "number":
            return _number(sign + self._take().text)
        raise self._wrong("a number, a quoted text, true, false, DATE '…' or TIMESTAMP '…'")

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, text: str) -> bool:
        """Take the next token if it is this keyword or sign; quoted names are neither."""
        token = self._peek()
        is_there = token.kind in {"name", "sign"} and token.text.upper() == text
        self._next += is_there
        return is_there

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._wrong(text if text.isalpha() else repr(text))

    def _function(self, name: str) -> InvalidOptionError:
        argument = self._tokens[self._next + 1].text.strip("`")
        names = [name for name in self._schema.names if name.lower() == argument.lower()]
        column = (names or self._schema.names)[0]
        data_type = self._schema.field(column).type
        begin, end = "1", "10"
        if pa.types.is_date(data_type):
            begin, end = "DATE '1998-01-01'", "DATE '1999-01-01'"
        elif pa.types.is_timestamp(data_type):
            zone = "Z" if data_type.tz else ""
            begin, end = (f"TIMESTAMP '{year}-01-01 00:00:00{zone}'" for year in (1998, 1999))
        elif pa.types.is_string(data_type):
            begin, end = "'a'", "'b'"
        return InvalidOptionError(
            f"filter {self._text!r}: functions such as {name} are not supported. Compare the "
            f"column itself, e.g. {column} >= {begin} AND {column} < {end}"
        )

    def _wrong(self, expected: str) -> InvalidOptionError:
        token = self._peek()
        actual = repr(token.text) if token.kind != "end" else "the end"
        return InvalidOptionError(
            f"filter {self._text!r}: expected {expected} at character {token.position + 1}, found "
            f"{actual}"
        )


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    quote = text[0]
    inner = text[1:-1].replace(quote * 2, quote)
    return re.sub(r"\\(.)", _unescaped, inner, flags=re.DOTALL)


def _unescaped(match: re.Match[str]) -> str:
    # \% and \_ keep their backslash: LIKE needs it.
    return match[0] if match[1] in "%_" else _ESCAPES.get(match[1], match[1])


_TYPED_TEXTS: dict[str, Callable[[str], Literal]] = {
    "DATE": parse_date,
    "TIMESTAMP": parse_time,
    "TIMESTAMP_NTZ": parse_time,
    "X": bytes.fromhex,
}
