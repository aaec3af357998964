"""Parse Java properties: ``hoodie.properties`` and the partition markers."""

import re
import zlib
from collections.abc import Iterator

_LARGEST = 4 << 20  # bytes; Apache Hudi writes a few kilobytes, more for very wide tables
_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANKS = " \t\f"
# A key ends before the first separator or blank that no backslash protects.
_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: bytes) -> dict[str, str]:
    r"""Parse Java properties: ISO-8859-1 with ``\uXXXX``, comments, continued lines.

    The last of several lines with one key wins. Blanks at the end of a value belong to it.

    Raises:
        ValueError: ``\u`` without four hexadecimal digits, or a text of more than 4 MiB.
    """
    if len(text) > _LARGEST:
        raise ValueError(f"it has {len(text):,} bytes; at most {_LARGEST:,} are read")
    entries = (_ENTRY.findall(line)[0] for line in _logical_lines(text.decode("iso-8859-1")))
    return {_unescape(key): _unescape(value) for key, value in entries}


def table_checksum(database: str, table: str) -> int:
    """Compute the ``hoodie.table.checksum`` of a table; the database may be ``""``."""
    # Java encodes half of a pair of surrogates as a question mark.
    return zlib.crc32(f"{database}.{table}".encode(errors="replace"))


def _logical_lines(text: str) -> Iterator[str]:
    """Join continued lines; drop comments, blank lines and leading blanks."""
    parts: list[str] = []
    for natural_line in _LINE_END.split(text):
        line = natural_line.lstrip(_BLANKS)
        if not parts and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            parts.append(line[:-1])
            continue
        yield "".join([*parts, line])
        parts = []
    if any(parts):  # the text ends in a backslash, which Java drops
        yield "".join(parts)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(_replace_escape, text)
    # Java escapes UTF-16 units, and two of them may be one character.
    return unescaped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _replace_escape(match: re.Match[str]) -> str:
    code, character = match.groups()
    if code is not None:
        return chr(int(code, 16))
    if character == "u":
        raise ValueError(
            f"expected four hexadecimal digits after \\u, found {match.string[match.end() :][:4]!r}"
        )
    return _CONTROL.get(character, character)
