"""What tests share is in modules that have no tests."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TEST_MODULE = re.compile(
    r"\b(?:from|import) +(?:tests\.[\w.]*)?\btest_\w+|\bfrom tests[\w.]* import test_"
)


def libraries(text: str) -> list[str]:
    """Imports of a test module, also in code that another process runs."""
    return TEST_MODULE.findall(text)


@pytest.mark.parametrize("folder", ["tests", "verification", "benchmarks"])
def test_no_module_imports_a_test_module(folder):
    found = {
        path.relative_to(PROJECT): imports
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if path != Path(__file__) and (imports := libraries(path.read_text(encoding="utf-8")))
    }
    assert found == {}, "move what they share to a module without test_"


@pytest.mark.parametrize(
    "text",
    [
        "from tests.reading.test_read_task import task",
        "import tests.reading.test_read_task",
        "from tests.reading import test_read_task",
        "from test_read_task import task",
    ],
)
def test_import_of_a_test_module_is_noticed(text):
    assert len(libraries(text)) == 1


@pytest.mark.parametrize("text", ["from tests.golden.run import judge", "import testing"])
def test_other_import_is_none(text):
    assert libraries(text) == []
