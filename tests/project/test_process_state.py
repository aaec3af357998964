"""Answers do not depend on state of the process that a caller can set.

Each use of such state in the package stands in `ALLOWED`, with the reason why it may be used there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.project.package_source import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

EXACT = "hudi_pyspark.exact_decimals"
# Operations of decimals that depend on a context, and functions whose answer depends on the
# process: its time zone, its locale, its handling of floating-point errors.
OF_A_CONTEXT = {"quantize", "scaleb", "to_integral_value", "normalize", "getcontext", "fma"}
OF_THE_PROCESS = {
    "getlocale",
    "localeconv",
    "setlocale",
    "localtime",
    "mktime",
    "ctime",
    "tzset",
    "seterr",
    "set_cpu_count",
    "set_io_thread_count",
    "set_memory_pool",
    "set_int_max_str_digits",
    "simplefilter",
    "filterwarnings",
}
# Module and call, to the reason.
ALLOWED = {
    ("hudi_pyspark.planning.changes", "astimezone()"): "the zone of a LOCAL timeline: as in Hudi",
    ("hudi_pyspark.options.instant_text", "astimezone()"): "the zone of a LOCAL timeline",
}


def calls(module: str) -> Iterator[str]:
    """Yield the calls of a module that depend on the process, by their names."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        is_bare = not node.args and not node.keywords
        if name in OF_THE_PROCESS or (module != EXACT and name in {"Decimal", *OF_A_CONTEXT}):
            yield name
        elif is_bare and name in {"astimezone", "today", "now"}:
            yield f"{name}()"
        elif name == "fromtimestamp" and len(node.args) == 1 and not node.keywords:
            yield f"{name}(seconds)"


def imports(module: str) -> Iterator[str]:
    """Yield what a module imports of `decimal`, apart from the class, and whether of `locale`."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in {"decimal", "locale"}:
            yield from (alias.name for alias in node.names if alias.name != "Decimal")
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in {"decimal", "locale"})


@pytest.mark.parametrize("module", MODULES)
def test_no_module_depends_on_the_state_of_the_process(module):
    unknown = [name for name in calls(module) if (module, name) not in ALLOWED]
    assert not unknown, f"{module} calls {unknown}: see {EXACT}, or give the reason in ALLOWED"


@pytest.mark.parametrize("module", [name for name in MODULES if name != EXACT])
def test_decimals_are_made_by_one_module(module):
    assert not [*imports(module)]


def test_each_reason_is_of_a_call_that_there_is():
    assert {(m, name) for m, name in ALLOWED if name not in set(calls(m))} == set()
