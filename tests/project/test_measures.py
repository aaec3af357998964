"""The measures of the package, taken of packages that are small enough to count by hand."""

import pytest

from tests.project.code_measures import code_lines, code_measures, longest_chain
from tests.project.docstring_measures import measure
from tests.project.package_source import import_graph, load_modules

ERRORS = '''
class HudiError(Exception):
    """Base."""

class BadError(HudiError):
    """Bad."""
'''
READER = '''
"""A reader."""

from __future__ import annotations
from typing import TYPE_CHECKING
from small.errors import BadError, HudiError

if TYPE_CHECKING:
    from small import typing_only

# A comment.
class Reader:
    def load(self):  # public, without a docstring
        self._check()

    def _check(self):
        raise BadError("x")

def direct():
    """Read.

    Raises:
        BadError: always.
    """
    raise BadError(
        "x"
    )

def transitive(reader):
    """Read."""
    return [direct(), reader.load()]

def by_method(reader):
    """Read."""
    reader.load()

def catching():
    """Read."""
    try:
        direct()
    except HudiError:
        return None

def foreign(text):
    """Splitting text calls no function of the package."""
    return text.split(",")

def split():
    """Read."""
    raise BadError("x")
'''


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    sources = {"__init__": "", "errors": ERRORS, "reader": READER, "typing_only": ""}
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source.lstrip())
    return folder


def names(definitions) -> set[str]:
    return {each.name for each in definitions}


def test_public_names_without_docstring(package):
    assert names(measure(package).without_docstring) == {"Reader", "Reader.load"}


def test_functions_that_can_raise_are_found_through_calls(package):
    found = names(measure(package).can_raise)
    assert found == {"Reader.load", "direct", "transitive", "by_method", "split"}


def test_share_counts_sections_that_name_errors(package):
    assert measure(package).raises_share == pytest.approx(1 / 5)


def test_section_in_the_docstring_of_a_class_counts_for_its_methods(package):
    reader = package / "reader.py"
    documented = 'class Reader:\n    """Read.\n\n    Raises:\n        BadError: always.\n    """\n'
    reader.write_text(reader.read_text().replace("class Reader:\n", documented))
    assert measure(package).raises_share == pytest.approx(2 / 5)


def test_imports_for_type_checkers_do_not_count(package):
    assert import_graph(load_modules(package))["small.reader"] == {"small.errors"}


def test_longest_chain_follows_imports():
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set[str]()}
    assert longest_chain(graph) == ("a", "b", "c")


def test_blank_lines_comments_and_docstrings_are_not_code(package):
    (package / "errors.py").write_text('"""Doc.\n\n"""\n\n# Why.\nTEXT = """a\nb"""  # Why.\n')
    assert code_lines(load_modules(package)["small.errors"]) == {6, 7}


def test_measures_name_the_largest_class_and_function(package):
    measures = code_measures(package)
    assert measures["largest class"] == "2 methods (small.reader.Reader)"
    assert measures["longest function"] == "9 lines (small.reader.direct)"
