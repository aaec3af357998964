"""Functions that other folders call have docstrings, which say which errors they raise."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.project.package_source import load_modules
from tests.project.shared_functions import Package, documented_errors, load_package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.project.shared_functions import SharedFunction

PACKAGE = load_package()
# Errors that do not leave the function, and why.
NEVER_RAISED = {
    "Instant.parse": {
        "ValueError": "it refuses a requested savepoint before it asks for its file name",
    },
    "ConfinedStorage.list_directory": {
        "FileNotFoundError": "a storage lists a folder that does not exist as an empty one",
    },
    "OnDamage.report": {
        "CorruptTableError": "the error that it hands on is a CorruptLogBlockError",
    },
}


def undocumented(package: Package, shared: SharedFunction) -> list[str]:
    """The errors that a function, or one that it calls, raises, and that its docstring lacks."""
    documented = tuple(error_classes(package, documented_errors(shared.docstring)))
    return sorted(
        f"{raised.error.__name__}, raised by {raised.function} in line {raised.line}"
        for raised in package.raised(shared.function)
        if not issubclass(raised.error, documented)
        if raised.error.__name__ not in NEVER_RAISED.get(own_name(shared), {})
    )


def without_docstring(package: Package) -> list[str]:
    """The names of the functions that other folders call, and that no docstring describes."""
    return [shared.name for shared in package.shared_functions if not shared.docstring]


def own_name(shared: SharedFunction) -> str:
    """The name of a function without its module, after the name of its class."""
    return shared.function.__qualname__


def error_classes(package: Package, names: list[str]) -> Iterator[type[BaseException]]:
    for name in names:
        found = package.errors.get(name) or getattr(builtins, name, None) or getattr(pa, name, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            yield found


def test_each_function_that_another_folder_calls_has_a_docstring():
    assert without_docstring(PACKAGE) == []


@pytest.mark.parametrize(
    "shared", [pytest.param(each, id=each.name) for each in PACKAGE.shared_functions]
)
def test_docstring_names_each_error_that_the_function_or_one_it_calls_raises(shared):
    assert undocumented(PACKAGE, shared) == [], "add the errors to `Raises:`, each with its reason"


@pytest.mark.parametrize(
    "shared", [pytest.param(each, id=each.name) for each in PACKAGE.shared_functions]
)
def test_docstring_names_errors_that_exist(shared):
    names = documented_errors(shared.docstring)
    assert [error.__name__ for error in error_classes(PACKAGE, names)] == names


def test_exceptions_are_functions_that_other_folders_call():
    assert NEVER_RAISED.keys() <= {own_name(shared) for shared in PACKAGE.shared_functions}


LIBRARY = """
from contextlib import contextmanager, suppress

class StaleError(ValueError): ...

class Store:
    size: int

    def load(self, key):
        if not key:
            raise KeyError(key)

    @property
    def newest(self):
        raise StaleError

@contextmanager
def stale_as_runtime():
    try:
        yield
    except (StaleError, TypeError) as error:
        raise RuntimeError from error

def made(name) -> OSError:
    return OSError(name)

def check(name):
    if name:
        raise made(name)
"""
CALLS = {
    "raise StaleError": ["StaleError"],
    "raise made(name)": ["OSError"],
    "check(name)": ["OSError"],
    "store.load(name)": ["KeyError"],
    "Store().load(name)": ["KeyError"],
    "other = Store(); other.newest": ["StaleError"],
    "return store.size": [],
    "twice(name)": [],  # two calls deep
    "lambda: check(name)": [],
    "with suppress(OSError): check(name)": [],
    "with stale_as_runtime(): store.newest": ["RuntimeError"],
    "with stale_as_runtime(): store.load(name)": ["KeyError", "RuntimeError"],
}
HANDLERS = {
    "except OSError: pass": [],
    "except (KeyError, OSError): return": [],
    "except Exception: raise": ["OSError"],
    "except KeyError: pass": ["OSError"],
    "except OSError as error: raise ValueError from error": ["ValueError"],
    "finally: store.newest": ["OSError", "StaleError"],
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder from which made-up packages are imported."""
    folder = tmp_path_factory.mktemp("packages")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def package_of(folder: Path, name: str, body: str, docstring: str = "Use.") -> Package:
    """A package with a function ``use`` that the folder ``user`` imports."""
    files = {
        "__init__.py": "",
        "library.py": LIBRARY,
        "used/__init__.py": "",
        "used/use.py": f"""
from contextlib import suppress
from {name}.library import Store, StaleError, check, made, stale_as_runtime

def twice(name):
    check(name)

def use(store: Store, name):
    '''{docstring}'''
    {body}
""",
        "user/__init__.py": "",
        "user/main.py": f"from {name}.used.use import use\n",
    }
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    importlib.invalidate_caches()
    return Package(load_modules(folder / name))


def errors_of_use(package: Package) -> list[str]:
    (use,) = (each for each in package.shared_functions if each.name.endswith(".use.use"))
    return [text.partition(",")[0] for text in undocumented(package, use)]


@pytest.mark.parametrize(("body", "raised"), CALLS.items(), ids=list(CALLS))
def test_errors_are_those_of_the_function_and_of_what_it_calls(body, raised, package):
    name = f"calls_{list(CALLS).index(body)}"
    assert errors_of_use(package_of(package, name, body)) == raised


@pytest.mark.parametrize(("handler", "raised"), HANDLERS.items(), ids=list(HANDLERS))
def test_errors_that_are_caught_do_not_count(handler, raised, package):
    name = f"handlers_{list(HANDLERS).index(handler)}"
    body = f"try: check(name)\n    {handler}"
    assert errors_of_use(package_of(package, name, body)) == raised


@pytest.mark.parametrize(
    ("documented", "missing"),
    [("OSError", []), ("Exception", []), ("KeyError", ["OSError"]), ("OSError, KeyError", [])],
)
def test_docstring_may_name_a_parent_or_several_errors(documented, missing, package):
    name = f"documented_{len(documented)}_{documented[0]}"
    docstring = f"Use.\n\n    Raises:\n        {documented}: it is so.\n    "
    assert errors_of_use(package_of(package, name, "check(name)", docstring)) == missing


def test_functions_of_other_folders_alone_count(package):
    shared = package_of(package, "shared", "pass").shared_functions
    names = {each.name.removeprefix("shared.") for each in shared}
    assert names == {
        "library.check", "library.made", "library.stale_as_runtime", "used.use.use",
    }  # fmt: skip


def test_functions_without_docstring_are_found(package):
    names = without_docstring(package_of(package, "bare", "pass"))
    assert names == ["bare.library.stale_as_runtime", "bare.library.made", "bare.library.check"]
