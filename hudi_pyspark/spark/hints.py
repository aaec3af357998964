"""Hints: what a query needs of a scan, beyond what Spark's API passes on.

Hints decide which columns, rows and state a scan reads. So they count only if the maker of the
query gave them, and each of the two makers has one door:

- The optimizer's rule runs in the driver's JVM, which has the source as Python pickled it. The rule
  adds the hints to this pickle, and Spark's planning process unpickles both: `read_hints`. Whatever
  a schema or an option says is a value in the pickle, and no hint: see `jvm/Hints.java`. The rule
  takes the words for hints from here.
- A client of Spark Connect has only the options of a read, which others can write as well, e.g. in
  a view. So it signs what it writes, with a secret that it gave to the source when it registered
  the source with its session: `ClientHints.of_read`.

Anything else that looks like a hint is left out, and a line of the log says so.
"""

import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, cast

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from hudi_pyspark.format.nested_types import is_variant
from hudi_pyspark.messages import logger

FieldPath: TypeAlias = tuple[str, ...]
"""The names of a column and of its nested fields, which the alias of a table may precede."""

ATTRIBUTE = "hints"
"""The attribute of a source that holds the rule's hints."""
INTERNAL = "hudi-py."
"""Begins the name of each option that this package gives, and no user."""
OPTION = f"{INTERNAL}hints"
REQUEST = f"{INTERNAL}request"
"""The option that names a request, so that its reads look new to a server of Spark Connect.

A server keeps the plans of a session, and with them the state of a table, as long as a read looks
the same.
"""
_BEGIN = "\0hudi-py\0"
_END = "\0"


class Hint(str, Enum):
    """The words for the rule's hints; the rule's constants have these names.

    `Hints` describes the values.
    """

    FILTERS = "filters"
    KEYS = "keys"
    LIMIT = "limit"
    PLACEHOLDER = "placeholder"
    PINNED = "pinned"
    KEEPS = "keeps"
    CORES = "cores"
    STATE = "state"


class Answer(str, Enum):
    """The words of the planning process: the names in the JSON object of `written_answer`."""

    ROW_BYTES = "row_bytes"  # estimated, of the rows with all columns
    FACTS = "facts"  # what explains the scan, by label
    AWAITING = "awaiting"  # the number of slices that await their merge
    NEWEST = "newest"  # the pickled source with the opened table in Base64; null if unchanged


ANSWER_WORDS = {"ANSWER": _BEGIN, "END": _END, **{word.name: word.value for word in Answer}}
"""The words with which the rule finds and reads an answer, by the names of its constants."""

GivenHints: TypeAlias = Mapping[str, str | bytes]
"""The hints that a source has, by their words; a state is the bytes of a pickle."""
_log = logger(__name__)


def written_answer(values: Mapping[Answer, object]) -> str:
    """Write what the rule reads from the first partition of a plan, as `jvm/Answer.java` does.

    It is a JSON object in ASCII between two marks, for which the rule searches a pickle.
    """
    return f"{_BEGIN}{json.dumps({word.value: value for word, value in values.items()})}{_END}"


@dataclass(frozen=True, slots=True)
class Hints:
    """What the rule says about a query."""

    columns: StructType  # the columns whose values the query uses
    filters: tuple[str, ...]  # texts of conditions, which Spark also applies above the scan
    # Texts of conditions on the keys of joins, which are known when the query runs. They choose
    # partitions. Spark made the readers of these partitions before it knew the keys.
    keys: tuple[str, ...]
    limit: int | None  # the number of rows after which Spark stops; None for all rows
    # The source already has the state that the query reads: Spark plans the scans of a query one
    # by one, and they must agree. If not pinned, the scan reads the newest state.
    is_pinned: bool
    # Merge outcomes may be kept in Spark's local folders; false if Spark has to encrypt its files.
    keeps_merges: bool
    cores: int  # tasks that Spark runs at the same time, by its default parallelism; 0: unknown
    # None if the rule asks for rows. Otherwise it asks for the newest state of the table: b"" if no
    # other scan of the query has one, else the pickled source whose state this scan has to share.
    state: bytes | None


def read_hints(given: GivenHints, schema: StructType) -> Hints:
    """Read the hints that the rule gave a source, the only door through which they enter.

    Args:
        given: the attribute `ATTRIBUTE` of the source that Spark sent.
        schema: that Spark requests. Its metadata says nothing: whoever made an entry of a metastore
            or a schema wrote it.
    """
    ignored = sorted({name for name in _metadata_names(schema) if name.startswith(INTERNAL)})
    if ignored:
        _log.warning("the metadata of columns gives no hints: %.300s", ", ".join(ignored))
    texts = {word: text for word, text in given.items() if isinstance(text, str)}
    limit = texts.get(Hint.LIMIT)
    return Hints(
        columns=StructType([]) if Hint.PLACEHOLDER in texts else schema,
        filters=_lines(texts.get(Hint.FILTERS, "")),
        keys=_lines(texts.get(Hint.KEYS, "")),
        limit=int(limit) if limit is not None else None,
        is_pinned=Hint.PINNED in texts,
        keeps_merges=Hint.KEEPS in texts,
        cores=int(texts.get(Hint.CORES, 0)),
        state=cast("bytes | None", given.get(Hint.STATE)),
    )


def _metadata_names(data_type: DataType | StructField) -> Iterator[str]:
    """Yield the names in the metadata of all columns and nested fields."""
    match data_type:
        case StructField():
            yield from data_type.metadata or ()
            yield from _metadata_names(data_type.dataType)
        case StructType():
            for field in data_type:
                yield from _metadata_names(field)
        case ArrayType():
            yield from _metadata_names(data_type.elementType)
        case MapType():
            yield from _metadata_names(data_type.keyType)
            yield from _metadata_names(data_type.valueType)


def _lines(text: str) -> tuple[str, ...]:
    # splitlines() would also split at line separators inside a user's literals.
    return tuple(text.split("\n")) if text else ()


@dataclass(frozen=True, slots=True)
class ClientHints:
    """What a client of Spark Connect says about a query; conditions and limit as in `Hints`."""

    # All names that the query uses, in lower case. Some may be no columns. None: any column.
    paths: frozenset[FieldPath] | None = None
    filters: tuple[str, ...] = ()
    limit: int | None = None
    is_given: bool = True  # False if no client sent hints; True even if the query needs everything

    def to_option(self, request: str, secret: str) -> str:
        """Return the hints as a signed text; equal hints of a request give the same text."""
        paths = None if self.paths is None else sorted(self.paths)
        text = json.dumps([paths, self.filters, self.limit])
        return f"{_signature(text, request, secret)} {text}"

    @classmethod
    def of_read(cls, options: Mapping[str, str], secret: str) -> "ClientHints":
        """Read the hints of a client in the options of a read, the only door for them.

        Args:
            options: of the read, which anybody may have written.
            secret: that the client gave to the source of its session; "" if none did.
        """
        option = options.get(OPTION, "")
        signature, _, text = option.partition(" ")
        expected = _signature(text, options.get(REQUEST, ""), secret)
        if not secret or not hmac.compare_digest(signature.encode(), expected.encode()):
            if option:
                _log.warning("the option %s gives no hints: it is not signed", OPTION)
            return cls(is_given=False)
        paths, filters, limit = json.loads(text)
        return cls(None if paths is None else frozenset(map(tuple, paths)), tuple(filters), limit)

    def narrow(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns and fields that the query may need, or one column if it needs none.

        The one column is a placeholder: it lets the scan count rows.
        """
        if self.paths is None:
            return schema
        subpaths = {field.name: _subpaths(field.name, self.paths) for field in schema}
        narrowed = [
            field.with_type(_narrow_type(field.type, subpaths[field.name]))
            for field in schema
            if subpaths[field.name]
        ]
        return pa.schema(narrowed or [min(schema, key=_width)])

    def without_placeholder(self, schema: StructType) -> StructType:
        """Return the columns of a narrowed schema without the placeholder of `narrow`."""
        if self.paths is None:
            return schema
        return StructType([field for field in schema if _subpaths(field.name, self.paths)])


def _signature(text: str, request: str, secret: str) -> str:
    signed = json.dumps([request, text])
    return hmac.new(secret.encode(), signed.encode(), "sha256").hexdigest()


def _subpaths(name: str, paths: Iterable[FieldPath]) -> set[FieldPath]:
    """Return what follows a name in paths; the alias of a table may precede the name."""
    return {
        path[place + 1 :]
        for path in paths
        for place, part in enumerate(path)
        if part == name.lower()
    }


def _narrow_type(data_type: pa.DataType, subpaths: set[FieldPath]) -> pa.DataType:
    """Return a type with only the fields that paths name; the whole type if a path ends at it."""
    if () in subpaths or is_variant(data_type):
        return data_type
    if pa.types.is_list(data_type):
        item = data_type.value_field
        return pa.list_(item.with_type(_narrow_type(item.type, subpaths)))
    if not pa.types.is_struct(data_type):
        return data_type
    by_name: dict[str, set[FieldPath]] = {}
    for name, *subpath in subpaths:
        by_name.setdefault(name, set()).add(tuple(subpath))
    if not by_name.keys() <= {field.name.lower() for field in data_type}:
        return data_type
    return pa.struct(
        field.with_type(_narrow_type(field.type, by_name[field.name.lower()]))
        for field in data_type
        if field.name.lower() in by_name
    )


def _width(field: pa.Field) -> int:
    """Return the bits of a value; a very large number if values differ in size."""
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1 << 30
