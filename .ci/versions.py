"""Print the requirements of a dependency group for pip, with other versions.

python .ci/versions.py test lowest         the lowest versions that pyproject.toml allows
python .ci/versions.py test pyspark-4.0    PySpark 4.0, and the newest of everything else

Needs the package packaging, and tomli before Python 3.11.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
PYSPARK = "pyspark-"


def requirements(pyproject: Mapping[str, Any], group: str, versions: str) -> list[str]:
    """Return the requirements of the group, those with changed versions first.

    Args:
        pyproject: the content of pyproject.toml.
        group: name of a dependency group.
        versions: ``lowest``, or ``pyspark-`` and the beginning of a version.

    Raises:
        ValueError: `versions` is unknown, or a dependency has no lowest version.
    """
    changed = {canonicalize_name(r.name): r for r in _changed(pyproject, versions)}
    wanted = group_requirements(pyproject["dependency-groups"], group)
    others = [r for r in wanted if canonicalize_name(r.name) not in changed]
    return [str(requirement) for requirement in [*changed.values(), *others]]


def group_requirements(groups: Mapping[str, Any], name: str) -> Iterator[Requirement]:
    """Yield the requirements of a dependency group and of the groups that it includes."""
    for entry in groups[name]:
        if isinstance(entry, str):
            yield Requirement(entry)
        else:
            yield from group_requirements(groups, entry["include-group"])


def lowest(requirement: Requirement) -> Requirement:
    """Return the requirement of the lowest version that a requirement allows.

    Raises:
        ValueError: it has no lowest version.
    """
    floors = [limit.version for limit in requirement.specifier if limit.operator == ">="]
    if len(floors) != 1:
        raise ValueError(f"{requirement}: needs one lowest version, as in '{requirement.name}>=1'")
    pinned = Requirement(str(requirement))
    pinned.specifier = SpecifierSet(f"=={floors[0]}")
    return pinned


def _changed(pyproject: Mapping[str, Any], versions: str) -> list[Requirement]:
    if versions.startswith(PYSPARK):
        return [Requirement(f"pyspark[connect]=={versions.removeprefix(PYSPARK)}.*")]
    if versions != "lowest":
        raise ValueError(f"unknown versions {versions!r}; give lowest, or {PYSPARK}4.0")
    project = pyproject["project"]
    extras = project["optional-dependencies"].values()
    declared = [*project["dependencies"], *(text for extra in extras for text in extra)]
    # By length, so that pyspark[connect] comes after pyspark, which it includes.
    return [lowest(Requirement(text)) for text in sorted(declared, key=len)]


def main(arguments: Sequence[str]) -> int:
    """Print one requirement a line; return the exit code."""
    group, versions = arguments
    pyproject = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    try:
        print("\n".join(requirements(pyproject, group, versions)))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
