"""Let a Python process of this source import the installed PySpark instead of ``pyspark.zip``.

Python imports this module when such a process starts. Spark puts ``pyspark.zip`` at the front of
the path of its processes, and each process compiles what it imports from the zip: 0.5 s of
processor time. Modules of an installed PySpark are compiled once.

Spark's zips leave the path only if the path also has PySpark and Py4J as folders, in the same
versions and with the same programs of workers. Otherwise the path stays as Spark made it.

Imports are most of what such a process does, so garbage is collected rarely, and numpy's linear
algebra starts no threads.

Python imports one module of this name. So this module imports the next one on the path, which is
the user's or the system's, as if this module were not there.
"""

import gc
import importlib
import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

_ZIPS = ("pyspark.zip", "py4j-*-src.zip")
_SAME_FILES = {"pyspark": ("version.py", "daemon.py", "worker.py"), "py4j": ("version.py",)}


def without_zips(paths: list[str]) -> list[str]:
    """Return paths without Spark's zips, or all paths if a zip may have modules of its own."""
    zips = [path for path in paths if any(map(Path(path).match, _ZIPS))]
    other_paths = [path for path in paths if path not in zips]
    # Without a package, or if one of them is in another form, there is nothing to compare.
    with suppress(OSError, ImportError, AttributeError, TypeError):
        if all(_contents(name, zips) == _contents(name, other_paths) for name in _SAME_FILES):
            return other_paths
    return paths


def _contents(package: str, paths: list[str]) -> list[bytes]:
    """Return the files of a package that have to be the same in a zip and in a folder."""
    spec: Any = PathFinder.find_spec(package, paths)
    folder = Path(spec.submodule_search_locations[0])
    return [spec.loader.get_data(str(folder / name)) for name in _SAME_FILES[package]]


if __name__ == "sitecustomize":
    # What a process imports is no garbage, and nothing uses the threads of numpy's linear algebra.
    gc.set_threshold(50_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    own_folder = str(Path(__file__).parent)
    sys.path[:] = without_zips([path for path in sys.path if path != own_folder])
    del sys.modules[__name__]
    importlib.import_module(__name__)  # if there is no other one, Python expects the error of this
