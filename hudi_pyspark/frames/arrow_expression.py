"""Expressions of pyarrow → their parts, as pyarrow itself writes them down to pickle them.

That is an IPC file: its metadata has the tree from left to right, and the columns of its only row
have literals and options.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_pyspark.frames.expression import Call, Expression, Field, Literal, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc


def parse_expression(expression: pc.Expression) -> Expression | None:
    """Return the parts of an expression; None for one that pyarrow cannot write down."""
    try:
        _, (written, *_) = expression.__reduce__()
        file = pa.ipc.open_file(written)
        columns = [column[0] for column in file.get_batch(0).columns]
        return _parse(_metadata(file.schema), columns)
    except (pa.ArrowException, LookupError, ValueError, TypeError):
        return None


def columns_of(parsed: Expression | None, schema: pa.Schema) -> set[str]:
    """Return the columns of a schema that a parsed expression needs; all where it is unknown."""
    if parsed is None:
        return set(schema.names)
    return {field.path[0] for field in fields_of(parsed)}


def _parse(pairs: Iterator[tuple[str, str]], columns: list[pa.Scalar]) -> Expression:
    """Parse the metadata: calls begin with their name, and end with it after their arguments."""
    open_calls: list[list[Expression]] = [[]]
    names: list[str] = []
    options: dict[str, object] = {}
    for key, value in pairs:
        match key:
            case "call":
                names.append(value)
                open_calls.append([])
            case "literal":
                open_calls[-1].append(Literal(columns[int(value)]))
            case "field_ref":
                open_calls[-1].append(Field((value,)))
            case "nested_field_ref":
                path = [next(pairs)[1] for _ in range(int(value))]
                open_calls[-1].append(Field(tuple(path)))
            case "options":  # after the arguments
                options = {
                    name: option.values if isinstance(option, pa.ListScalar) else option.as_py()
                    for name, option in columns[int(value)].items()
                }
            case "end":
                arguments = open_calls.pop()
                open_calls[-1].append(Call(names.pop(), arguments, options))
                options = {}
            case _:
                raise ValueError(key)
    (root,) = open_calls[0]
    return root


def _metadata(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Yield keys and values in their order; `pa.Schema.metadata` has but one value of each key."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = schema.__arrow_c_schema__()
    # struct ArrowSchema begins with pointers to format, name and metadata.
    position = (ctypes.c_void_p * 3).from_address(pointer(capsule, b"arrow_schema"))[2]
    if position is None:
        return

    def take(size: int) -> bytes:
        nonlocal position
        taken = ctypes.string_at(position, size)
        position += size
        return taken

    def counted() -> int:
        return int.from_bytes(take(4), sys.byteorder, signed=True)

    for _ in range(counted()):
        key = take(counted()).decode()
        yield key, take(counted()).decode()
