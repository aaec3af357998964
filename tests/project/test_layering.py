"""Imports point down the data flow, and only the Spark side knows of Spark."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from tests.project.package_source import LONGEST_CHAIN, MODULES, PROJECT

SHIM = PROJECT / "pyspark_hudi"

TABLE = {
    "errors",
    "thresholds",
    "messages",
    "arrow_values",
    "cached_property",
    "exact_decimals",
    "fork_safe_lock",
    "imported_function",
    "format",
    "storage",
    "table",
}
SHARED = TABLE | {"columns", "filter", "custom_mergers", "tasks"}  # by planning and reading
PIPELINE = SHARED | {"options", "metadata_table", "planning", "reading"}
# What each file or folder of the package may import from the package. A new one needs its place.
MAY_IMPORT = {
    "errors": set(),
    "messages": {"errors"},
    "extras": set(),
    "thresholds": set(),
    "imported_function": {"errors"},
    "storage": {
        "errors",
        "thresholds",
        "messages",
        "fork_safe_lock",
        "imported_function",
        "wording",
        "storage",
    },
    "catalogs": {"errors", "extras", "storage", "catalogs"},
    "format": {
        "errors",
        "thresholds",
        "arrow_values",
        "cached_property",
        "exact_decimals",
        "format",
        "wording",
    },
    "table": {
        "errors",
        "thresholds",
        "messages",
        "cached_property",
        "format",
        "storage",
        "table",
        "wording",
    },
    "columns": {"errors", "arrow_values", "exact_decimals", "format", "wording"},
    "filter": {"errors", "cached_property", "exact_decimals", "format", "table", "columns"},
    "options": {"errors", "messages", "storage", "table", "wording"},
    "custom_mergers": {"errors", "imported_function", "table"},
    "demo": set(),
    "tasks": {
        "errors",
        "arrow_values",
        "cached_property",
        "format",
        "storage",
        "table",
        "columns",
        "filter",
        "custom_mergers",
    },
    "metadata_table": {
        *TABLE - {"imported_function"},
        "columns",
        "filter",
        "options",
    },
    "planning": {*SHARED, "options", "metadata_table", "version", "wording"},
    "reading": SHARED,
    "frames": {*SHARED, "engine_stream", "reading"},
    "arrow_values": set(),
    "cached_property": set(),
    "engine_stream": {"errors"},
    "exact_decimals": set(),
    "fork_safe_lock": set(),
    "names_elsewhere": {"wording"},
    "short_name": set(),
    "wording": set(),
    "html_table": {"errors", "columns", "wording"},
    "version": set(),
    "scan": {
        *PIPELINE,
        "engine_stream",
        "extras",
        "names_elsewhere",
        "short_name",
        "frames",
        "html_table",
    },
    "inspection": {*PIPELINE, "wording", "html_table", "names_elsewhere"},
    "doctor": {*PIPELINE, "wording", "inspection", "html_table"},
    "report": {*PIPELINE, "extras", "short_name", "wording", "inspection", "doctor", ""},
    "hudi_table": {
        *PIPELINE,
        "extras",
        "names_elsewhere",
        "scan",
        "inspection",
        "doctor",
        "report",
        "catalogs",
        "frames",
    },
    "cli": {*PIPELINE, "catalogs", "demo", "wording", "scan", "doctor", "report", "hudi_table", ""},
    "spark": {
        *PIPELINE,
        "short_name",
        "wording",
        "scan",
        "inspection",
        "catalogs",
        "hudi_table",
        "spark",
    },
    "": {
        "errors",
        "custom_mergers",
        "demo",
        "extras",
        "html_table",
        "hudi_table",
        "scan",
        "spark",
        "version",
    },  # hudi_pyspark/__init__.py
}

# The rooms of a folder, and what each may import of it; "" are the modules at its top.
ROOMS = {
    "format": {
        "": set(),
        "avro": {""},
        "timeline": {"avro"},
        "parquet": {""},
        "hfile": {""},
        "log": {"", "avro", "hfile", "parquet"},
    },
    "reading": {
        "base_files": {"log_records"},
        "log_records": set(),
        "merge": {"log_records"},
        "": {"base_files", "log_records", "merge"},
    },
}


def place(module: str) -> str:
    """The file or folder below the package that a module belongs to; "" is the package itself."""
    return module.split(".")[1] if "." in module else ""


def room(module: str) -> str:
    """The folder inside its folder that a module belongs to; "" is the top."""
    names = module.split(".")
    is_package = MODULES[module].name == "__init__.py"
    return names[2] if len(names) > 3 or (is_package and len(names) == 3) else ""


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported_names(module: str, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    source = node.module or ""
    if node.level:
        package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
        parents = package.split(".")[: len(package.split(".")) - node.level + 1]
        source = ".".join([*parents, source]).rstrip(".")
    submodules = [f"{source}.{alias.name}" for alias in node.names]
    return [name for name in submodules if name in MODULES] or [source]


def imports(module: str, *, typing_only: bool = False, in_functions: bool = True) -> Iterator[str]:
    """Full names that a module imports, also inside functions."""

    def walk(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if is_type_checking(child) and not typing_only:
                continue
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not in_functions:
                continue
            yield from imported_names(module, child)
            yield from walk(child)

    return walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))


def first_party(names: Iterator[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] == "hudi_pyspark"}


each_module = pytest.mark.parametrize("module", MODULES)


@each_module
def test_imports_point_down(module):
    assert place(module) in MAY_IMPORT, f"give {module} its place in MAY_IMPORT"
    used = {place(name) for name in first_party(imports(module, typing_only=True))}
    assert used - {place(module)} <= MAY_IMPORT[place(module)]


@pytest.mark.parametrize("module", [name for name in MODULES if place(name) in ROOMS])
def test_rooms_of_a_folder_import_one_another_in_order(module):
    may_import = ROOMS[place(module)]
    assert room(module) in may_import, f"give {module} its place in ROOMS"
    used = {
        room(name)
        for name in first_party(imports(module, typing_only=True))
        if place(name) == place(module)
    }
    assert used - {room(module)} <= may_import[room(module)]


@each_module
def test_only_the_spark_folder_imports_pyspark(module):
    if place(module) == "spark":
        return
    # The package itself may bring in Spark, but only when register or read is called.
    names = imports(module, in_functions=module != "hudi_pyspark")
    assert [name for name in names if name.split(".")[0] in {"pyspark", "pyspark_hudi"}] == []


@each_module
def test_import_inside_a_function_says_why(module):
    """Its line ends with ``# noqa: PLC0415  (the reason)``; the rule without it is ruff's."""
    for line in MODULES[module].read_text(encoding="utf-8").splitlines():
        assert "noqa: PLC0415" not in line or re.search(r"noqa: PLC0415  \(.+\)$", line), line


def test_no_module_imports_itself_through_others_not_even_later():
    graph = {module: first_party(imports(module)) for module in MODULES}
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module in finished:
            return
        for name in graph.get(module, ()):
            visit(name, (*path, module))
        finished.add(module)

    for module in graph:
        visit(module, ())


def test_no_circle_of_modules_not_even_for_types():
    graph = {name: first_party(imports(name, typing_only=True)) - {name} for name in MODULES}

    def reachable(module: str) -> set[str]:
        reached: set[str] = set()
        waiting = [module]
        while waiting:
            for name in graph.get(waiting.pop(), set()) - reached:
                reached.add(name)
                waiting.append(name)
        return reached

    below = {name: reachable(name) for name in MODULES}
    circles = {
        frozenset(
            other.removeprefix("hudi_pyspark.") for other in below[name] if name in below[other]
        )
        for name in MODULES
        if name in below[name]
    }
    assert circles == set()


def test_chains_of_imports_are_short():
    graph = {module: first_party(imports(module, in_functions=False)) for module in MODULES}

    @cache
    def chain(module: str) -> tuple[str, ...]:
        chains = (chain(name) for name in graph.get(module, ()))
        return (module, *max(chains, key=len, default=()))

    longest = max(map(chain, MODULES), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)


def test_core_is_imported_without_pyspark():
    assert "pyspark" not in modules_after("hudi_pyspark.HudiTable, hudi_pyspark.Scan")


def test_python_worker_of_spark_loads_what_reads_and_nothing_else():
    loaded = modules_after("hudi_pyspark.spark.reader", "import hudi_pyspark.spark.reader")
    ours = {name for name in loaded if name.split(".")[0] == "hudi_pyspark"}
    assert "hudi_pyspark.reading.read_task" in ours
    assert {place(name) for name in ours} <= {
        *MAY_IMPORT["reading"],
        "reading",
        "spark",
        "version",
        "wording",
        "",
    }
    # Files are found by planning alone.
    listing = (
        "archive",
        "commit_history",
        "file_groups",
        "file_slices",
        "listing",
        "table_services",
        "view",
    )
    assert ours.isdisjoint(f"hudi_pyspark.table.{name}" for name in listing)


def test_session_that_looks_for_data_sources_loads_next_to_nothing():
    loaded = modules_after("pyspark_hudi.DefaultSource", "import pyspark_hudi")
    loaded -= modules_after("", "import pyspark.sql.datasource")  # PySpark 4.0 imports numpy
    assert loaded.isdisjoint({"pyarrow", "numpy", "fastavro", "hudi_pyspark.scan"})


def test_planning_process_of_spark_loads_what_plans():
    loaded = modules_after("hudi_pyspark.spark.planner", "import hudi_pyspark.spark.planner")
    assert "hudi_pyspark.scan" in loaded
    others = ("inspection", "doctor", "report", "frames")
    assert loaded.isdisjoint(f"hudi_pyspark.{name}" for name in others)


def modules_after(expression: str, statement: str = "import hudi_pyspark") -> set[str]:
    code = f"import sys\n{statement}\n{expression}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


def test_shim_is_small_since_spark_imports_it_in_every_session():
    statements = ast.parse((SHIM / "__init__.py").read_text(encoding="utf-8")).body
    assert len(statements) <= 5
