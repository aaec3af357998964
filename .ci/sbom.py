"""Write the bill of materials that the wheel carries in `dist-info/sboms/` (PEP 770, CycloneDX).

`make sbom` writes `.ci/hudi_pyspark.cdx.json` from pyproject.toml. The package bundles nothing, so
its components are the packages that it requires: those of an extra are optional. The file has no
time and no random number: the same project gives the same bytes, and so the same wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from project_table import project_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROJECT = Path(__file__).resolve().parent.parent
SBOM = PROJECT / ".ci" / "hudi_pyspark.cdx.json"


def bill_of_materials(project: Mapping[str, Any]) -> str:
    """Return the bill as JSON.

    Args:
        project: what `project_table` returns.
    """
    package = f"{project['name']}@{project['version']}"
    root = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.LIBRARY,
        bom_ref=package,
        description=project["description"],
        licenses=[DisjunctiveLicense(id=project["license"])],
        purl=PackageURL("pypi", None, project["name"], project["version"]),
    )
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"pkg:pypi/{package}"))
    bom.metadata.component = root
    required = list(_required(project))
    bom.components.update(required)
    bom.register_dependency(root, required)
    # The library would write the current time.
    bom.metadata.timestamp = None  # type: ignore[assignment]
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _required(project: Mapping[str, Any]) -> Iterator[Component]:
    yield from (_component(text) for text in project["dependencies"])
    extras: Mapping[str, list[str]] = project["optional-dependencies"]
    for extra, texts in extras.items():
        yield from (_component(text, extra) for text in texts)


def _component(text: str, extra: str = "") -> Component:
    requirement = Requirement(text)
    properties = [Property(name="hudi-pyspark:requirement", value=str(requirement))]
    if extra:
        properties.append(Property(name="hudi-pyspark:extra", value=extra))
    return Component(
        name=requirement.name,
        type=ComponentType.LIBRARY,
        bom_ref=f"{requirement.name}[{extra}]" if extra else requirement.name,
        scope=ComponentScope.OPTIONAL if extra else ComponentScope.REQUIRED,
        purl=PackageURL("pypi", None, requirement.name),
        properties=properties,
    )


def main() -> int:
    """Write the file; return the exit code."""
    SBOM.write_text(bill_of_materials(project_table(PROJECT)), encoding="utf-8")
    print(SBOM.relative_to(PROJECT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
