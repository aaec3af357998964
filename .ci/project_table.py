"""The table `project` of pyproject.toml, with the version, which only the package itself has."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path


def project_table(checkout: Path) -> dict[str, Any]:
    """Return the table of a checkout, with ``version``."""
    text = (checkout / "pyproject.toml").read_text("utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return {**table, "version": package_version(checkout)}


def package_version(checkout: Path) -> str:
    """Return the version of a checkout; "" if the package has none."""
    source = (checkout / "hudi_pyspark" / "version.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    return ""
