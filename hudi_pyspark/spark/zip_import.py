"""Values that are unpickled in processes of Spark that do not find the zip of this package.

The files of ``addArtifacts`` and ``--py-files`` are on the machine of a stream's process, but that
process looks for them in a folder that does not exist.
"""

from __future__ import annotations

from typing import Any


def reduced_with_zip(value: object) -> tuple[Any, ...] | None:
    """Return a value for `__reduce_ex__`, with the path of the zip that it can be imported from."""
    archive = getattr(__spec__.loader, "archive", None)
    if archive is None:
        return None

    def restore(_zip: None, kind: type[object]) -> object:
        return kind.__new__(kind)

    return restore, (_Zip(archive), type(value)), value.__dict__


class _Zip:
    """The path of a zip; what is pickled after it can be imported from there."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        # A local function is pickled by value, so it runs before this package can be imported.
        def add(path: str) -> None:
            import sys  # noqa: PLC0415  (by value, without this module's globals)

            if path not in sys.path:
                sys.path.append(path)

        return add, (self._path,)
