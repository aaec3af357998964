"""The text of a TOML document, of which tomllib only reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WIDEST_LIST = 90


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document of texts, numbers, booleans, and lists and mappings of them."""
    return "\n".join(_lines(document, "")).lstrip("\n") + "\n"


def _lines(values: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the values of a table, then its tables, since what follows a header belongs to it."""
    tables = {key: value for key, value in values.items() if _has_header(value)}
    for key, value in values.items():
        if key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        name = f"{path}{_key(key)}"
        for table in value if isinstance(value, list) else [value]:
            if isinstance(value, list):
                yield from ("", f"[[{name}]]")
            elif not table or not all(map(_has_header, table.values())):
                yield from ("", f"[{name}]")
            yield from _lines(table, f"{name}.")


def _has_header(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return _list([_value(each) for each in value])
    return f"'''\n{value}'''" if _is_several_lines(value) else _text(value)


def _list(values: list[str]) -> str:
    line = f"[{', '.join(values)}]"
    if len(line) <= _WIDEST_LIST:
        return line
    return "[\n" + "".join(f"  {value},\n" for value in values) + "]"


def _is_several_lines(text: str) -> bool:
    """Whether a text has lines that can stand as they are."""
    lines = text.split("\n")
    return len(lines) > 1 and "'''" not in text and all(map(str.isprintable, lines))


def _text(text: str) -> str:
    """Quote a text; its escapes in JSON are some of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
