"""Look up known vulnerabilities of what the package and its extras install (`make audit`).

Runs pip-audit over the newest versions that pyproject.toml allows. Exit code 0 where all packages
were looked up and nothing is known against them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(project: Mapping[str, Any]) -> list[str]:
    """Return everything that the package requires, its extras included."""
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(text for extra in extras for text in extra)]


def main(arguments: Sequence[str]) -> int:
    """Run pip-audit with more arguments; return its exit code."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.txt")
        listed.write_text("\n".join(requirements(project)), encoding="utf-8")
        # --strict: a package that the database lacks is an error, not a line in passing.
        audit = [sys.executable, "-m", "pip_audit", "--strict", "--requirement", str(listed)]
        code = subprocess.run([*audit, *arguments], check=False).returncode
    if code:
        print(
            "make audit: failed. Packages without an entry are found where the index serves "
            "vulnerabilities; another database: .venv-audit/bin/python .ci/audit.py -s osv",
            file=sys.stderr,
        )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
