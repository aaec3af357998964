"""The figures of the code are counted right."""

import textwrap

from tests.project.measure import (
    ROOT,
    circles,
    import_graph_at_load,
    longest_chain,
    measure,
    orphans,
)
from tests.project.package_source import LONGEST_CHAIN, load_modules

MOST_ORPHANS = 5


def test_figures_of_a_small_package(tmp_path):
    write(tmp_path / "hudi_pyspark" / "__init__.py", "")
    write(
        tmp_path / "hudi_pyspark" / "one.py",
        '''
        """One."""

        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from hudi_pyspark.two import Two


        class One:
            """A class."""

            # a comment
            def first(self, two: "Two") -> None:
                """First.

                Raises:
                    ValueError: always.
                """
                raise ValueError

            def second(self) -> None: ...

            def _third(self) -> None: ...
        ''',
    )
    write(tmp_path / "hudi_pyspark" / "two.py", "import hudi_pyspark.one\n\n\nclass Two: ...\n")
    assert measure(tmp_path) == {
        "modules": "3",
        "code lines": "10",
        "docstring lines": "7",
        "docstrings of several lines": "1",
        "docstrings that name errors (Raises:)": "1",
        "comment lines": "1",
        "public functions with docstring": "1 of 2",
        "circles of modules, imports for types included": "1",
        "longest chain of imports": "2",
        "test files that name no module": "0",
        "most methods": "2 (one.One)",
        "largest module, code lines": "8 (one)",
    }


def test_test_files_that_name_neither_a_module_nor_a_kind_of_test(tmp_path):
    for name in ("table/__init__.py", "table/view.py", "table/file_group.py"):
        write(tmp_path / "hudi_pyspark" / name, "")
    named = [
        *("test_table.py", "table/test_table.py", "table/test_view.py", "table/test_view_open.py"),
        *("table/test_file_group_names.py", "golden/test_golden.py"),
    ]
    others = ["table/test_file.py", "table/test_open.py", "table/test_viewer.py", "test_view.py"]
    for name in (*named, *others):
        write(tmp_path / "tests" / name, "")
    assert orphans(tmp_path) == others


def test_test_files_say_what_they_test():
    named = orphans(ROOT)
    assert len(named) <= MOST_ORPHANS, f"give them the names of modules, see orphans(): {named}"


def test_modules_import_in_one_direction_and_in_short_chains():
    modules = load_modules()
    assert circles(modules) == set()
    assert len(longest_chain(import_graph_at_load(modules))) <= LONGEST_CHAIN


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
