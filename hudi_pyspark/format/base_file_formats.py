"""The formats of base files, by the extensions of their names."""

import importlib.util
import posixpath

from hudi_pyspark.errors import UnsupportedTableError

PARQUET = ".parquet"
_LANCE = ".lance"
_READABLE = (PARQUET, ".orc", ".hfile", _LANCE)
LANCE_MISSING = (
    "Lance base files are read with the library pylance, which is not installed; install it with "
    "pip install pylance (extra 'lance'), on every Spark executor too"
)


def check_readable(path: str) -> None:
    """Refuse, at plan time, a base file whose format cannot be read.

    Raises:
        UnsupportedTableError: the extension is not that of a known format, or needs the extra
            ``lance``, which is not installed.
    """
    if path.endswith(PARQUET):
        return
    extension = posixpath.splitext(path)[1]
    if extension not in _READABLE:
        raise UnsupportedTableError(
            f"base file {path} has the extension {extension!r}; supported: {', '.join(_READABLE)}"
        )
    if extension == _LANCE and importlib.util.find_spec("lance") is None:
        raise UnsupportedTableError(f"base file {path}: {LANCE_MISSING}")
