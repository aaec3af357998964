"""docs/errors.md, made from `hudi_pyspark/errors.py` and a page of errors of others.

Run as a module, it writes the page.
"""

from collections.abc import Iterator
from pathlib import Path

from hudi_pyspark import errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"

HEAD = """\
# Errors

<!-- Made by `make docs` from hudi_pyspark/errors.py and, at the end,
tests/project/before_the_package_loads.md: change it there. -->

Every error that this package raises on purpose is a `HudiError`, whose message begins with a code
in brackets. In Python, catch the class; in Spark's `PythonException`, look for the code:

```python
from hudi_pyspark import HudiTable, TableNotFoundError

try:
    HudiTable("/no/such/table").scan().count()
except TableNotFoundError as error:
    assert str(error).startswith("[HUDI_PATH_NOT_FOUND]")
```

The message is the first line of an error while a query is planned, and the second for an error of a
task. Over Spark Connect a stack trace of the server follows, unless
`spark.sql.connect.serverStacktrace.enabled` is `false`.

"""
BEFORE = Path(__file__).with_name("before_the_package_loads.md")


def error_classes() -> list[type[errors.HudiError]]:
    """Every error class, each after its parent, in the order of the module."""

    def below(parent: type[errors.HudiError]) -> Iterator[type[errors.HudiError]]:
        yield parent
        for child in parent.__subclasses__():
            if child.__module__ == errors.__name__:
                yield from below(child)

    return list(below(errors.HudiError))


def render() -> str:
    tree = "\n".join(_tree(errors.HudiError))
    rows = [_row(error) for error in error_classes()]
    table = ["| Code | Class | Raised for |", "|---|---|---|", *rows]
    return f"{HEAD}```text\n{tree}\n```\n\n" + "\n".join(table) + f"\n\n{BEFORE.read_text()}"


def _tree(error: type[errors.HudiError], indent: str = "") -> Iterator[str]:
    yield indent + error.__name__
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from _tree(child, indent + "    ")


def _row(error: type[errors.HudiError]) -> str:
    meaning = (error.__doc__ or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
    if issubclass(error, errors.CorruptTableError):
        meaning += " [What to do](my-table-is-broken.md)."
    return f"| `{error.code}` | `{error.__name__}` | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
