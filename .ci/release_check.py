"""Check a release: versions, metadata, and each artefact in `dist/`.

`make release-check` builds the artefacts, then runs this script with a Python that has hatchling,
build and packaging. The first check that fails ends it with one message and exit code 1.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version
from project_table import project_table
from sbom import SBOM, bill_of_materials
from spark_zip import write_zip

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from email.message import Message

PROJECT = Path(__file__).resolve().parent.parent
CASE = PROJECT / "tests" / "golden" / "v9_mor_compaction_inline"
SMOKE = PROJECT / ".ci" / "smoke.py"
CONSTRAINTS = PROJECT / "constraints.txt"
TYPED_CALLS = PROJECT / "tests" / "typing" / "api.py"
PACKAGES = ("hudi_pyspark", "pyspark_hudi")
HEADING = re.compile(r"^## \[?([^]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
WHEEL_NAME = re.compile(r"hudi_pyspark-\d[\w.+!]*-py3-none-any\.whl")
PUBLIC_HOME = Path(".ci", "public_home.toml")


class ReleaseError(Exception):
    """An error in the release; its text says what to change."""


@dataclass(frozen=True, slots=True)
class Artefacts:
    """The three files of a release."""

    wheel: Path
    sdist: Path
    zip: Path


def check_versions(project: Path, version: str) -> None:
    """Check the form of the version, and that the changelog and the docs agree with it.

    Args:
        project: root of the checkout.
        version: of the package.

    Raises:
        ReleaseError: names the file that disagrees.
    """
    try:
        parsed = Version(version)
    except InvalidVersion as error:
        raise ReleaseError(f"hudi_pyspark/version.py: {error}") from error
    if str(parsed) != version:
        raise ReleaseError(f"hudi_pyspark/version.py: {version!r} should be written {parsed}")
    check_changelog((project / "CHANGELOG.md").read_text("utf-8"), parsed)
    for page in [project / "README.md", *sorted((project / "docs").glob("*.md"))]:
        if WHEEL_NAME.search(page.read_text("utf-8")):
            raise ReleaseError(
                f"{page.relative_to(project)} names a wheel with its version, which the next "
                "release makes wrong: write hudi_pyspark-*.whl"
            )


def check_public_home(project: Path, version: Version, urls: Mapping[str, str]) -> None:
    """Check that a release says where the project is, in each place that should.

    Args:
        project: root of the checkout.
        version: of the package; a development version may leave out all of it.
        urls: table `project.urls` of pyproject.toml.

    Raises:
        ReleaseError: names what is empty, or the place that says something else.
    """
    home = tomllib.loads((project / PUBLIC_HOME).read_text("utf-8"))
    empty = [name for name, value in home.items() if not value]
    if empty and not version.is_devrelease:
        raise ReleaseError(f"{PUBLIC_HOME}: a release needs {', '.join(empty)}")
    citation = (project / "CITATION.cff").read_text("utf-8")
    places = {
        "[project.urls] of pyproject.toml": ("repository", urls.get("Repository", "")),
        "CITATION.cff": ("repository", citation),
        "SECURITY.md": ("security", (project / "SECURITY.md").read_text("utf-8")),
    }
    for place, (name, text) in places.items():
        if home[name] not in text:
            raise ReleaseError(f"{place} lacks {home[name]}, the {name} of {PUBLIC_HOME}")


def check_changelog(text: str, version: Version) -> None:
    """Check that the first heading fits the version.

    A development version collects its changes under `## Unreleased`. Any other version has a
    heading with a date, `## 1.0.0 - 2026-01-31`, and nothing above it.

    Raises:
        ReleaseError: says which heading is expected.
    """
    headings = HEADING.findall(text)
    first = headings[0] if headings else ("nothing", "")
    if version.is_devrelease:
        if first[0] != "Unreleased":
            raise ReleaseError(
                f"CHANGELOG.md begins with {first[0]}, but {version} is a development version: "
                "begin with '## Unreleased', or set the version that is released"
            )
        released = [Version(name) for name, _ in headings[1:]]
        if released and released[0] >= version:
            raise ReleaseError(
                f"CHANGELOG.md has {released[0]} as released, so {version} is too low"
            )
        return
    if first[0] != str(version) or not first[1]:
        raise ReleaseError(
            f"CHANGELOG.md begins with '{' - '.join(filter(None, first))}'; a release of {version} "
            f"needs '## {version} - YYYY-MM-DD' there"
        )


def check_metadata(metadata: Message, project: Mapping[str, Any]) -> None:
    """Check that the metadata of a wheel has everything that pyproject.toml declares.

    Args:
        metadata: metadata of the wheel.
        project: what `project_table` returns.

    Raises:
        ReleaseError: names the field.
    """
    expected: dict[str, object] = {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "License-Expression": project["license"],
        "Requires-Python": project["requires-python"],
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        if metadata[field] != value:
            raise ReleaseError(f"wheel metadata: {field} is {metadata[field]!r}, not {value!r}")
    extras: Mapping[str, Sequence[str]] = project["optional-dependencies"]
    lists = {
        "Classifier": set(project["classifiers"]),
        "License-File": set(project["license-files"]),
        "Provides-Extra": set(extras),
        "Project-URL": {f"{name}, {url}" for name, url in project.get("urls", {}).items()},
    }
    for field, wanted in lists.items():
        values = set(metadata.get_all(field, []))
        if values != wanted:
            raise ReleaseError(
                f"wheel metadata: {field} differs from pyproject.toml in {sorted(values ^ wanted)}"
            )
    required = _normalised(metadata.get_all("Requires-Dist", []))
    declared = _normalised(project["dependencies"])
    for extra, texts in extras.items():
        declared |= _normalised(texts, extra)
    if required != declared:
        raise ReleaseError(
            "wheel metadata: Requires-Dist differs from pyproject.toml in "
            f"{sorted(map(str, required ^ declared))}"
        )
    if not str(metadata.get_payload()).strip():
        raise ReleaseError("wheel metadata: no description (README.md)")


def _normalised(requirements: Iterable[str], extra: str = "") -> set[Requirement]:
    marked = [f"{text}; extra == '{extra}'" if extra else text for text in requirements]
    return {Requirement(text) for text in marked}


def check_files(names: Sequence[str], project: Path) -> None:
    """Check that a wheel has all files of the packages, the licence, and nothing else.

    Args:
        names: names of the files in the wheel.
        project: root of the checkout.

    Raises:
        ReleaseError: names the files.
    """
    wanted = {
        path.relative_to(project).as_posix()
        for package in PACKAGES
        for path in (project / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packaged = {name for name in names if ".dist-info/" not in name}
    if packaged != wanted:
        raise ReleaseError(f"wheel and checkout differ in {sorted(packaged ^ wanted)}")
    if "hudi_pyspark/py.typed" not in packaged:
        raise ReleaseError("the wheel has no hudi_pyspark/py.typed: its types would be ignored")
    about = {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name}
    if missing := {"METADATA", "RECORD", "entry_points.txt", "licenses/LICENSE"} - about:
        raise ReleaseError(f"the wheel lacks {sorted(missing)} in its dist-info")


def check_bill_of_materials(wheel: zipfile.ZipFile, about: str, project: Mapping[str, Any]) -> None:
    """Check that the wheel carries the bill of materials of this pyproject.toml.

    Args:
        wheel: the wheel.
        about: name of its dist-info folder.
        project: table `project` of pyproject.toml.

    Raises:
        ReleaseError: the bill is missing, or of another state.
    """
    name = f"{about}/sboms/{SBOM.name}"
    if name not in wheel.namelist():
        raise ReleaseError(f"the wheel lacks {name}: see sbom-files in pyproject.toml")
    if wheel.read(name).decode() != bill_of_materials(project):
        raise ReleaseError(f"{name} differs from pyproject.toml: run make sbom")


def check_same_bytes(one: Path, other: Path) -> None:
    """Check that two wheels are the same file, and name the parts that differ.

    Raises:
        ReleaseError: says what differs.
    """
    check_same_content(one, other)
    if one.read_bytes() != other.read_bytes():
        raise ReleaseError(
            f"{one.name} has the content of {other} but other bytes: order, times or modes differ"
        )


def check_same_content(one: Path, other: Path) -> None:
    """Check that two wheels or zips have the same files with the same bytes.

    Raises:
        ReleaseError: names the files that differ.
    """
    contents = [_contents(one), _contents(other)]
    names = set().union(*contents)
    different = sorted(name for name in names if contents[0].get(name) != contents[1].get(name))
    if different:
        raise ReleaseError(f"{one.name} and {other} differ in {different}")


def _contents(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def find_artefacts(dist: Path, version: str) -> Artefacts:
    """Return the files in `dist/`.

    Raises:
        ReleaseError: one is missing, or there are others.
    """
    artefacts = Artefacts(
        dist / f"hudi_pyspark-{version}-py3-none-any.whl",
        dist / f"hudi_pyspark-{version}.tar.gz",
        dist / "hudi_pyspark.zip",
    )
    wanted = {artefacts.wheel, artefacts.sdist, artefacts.zip}
    if set(dist.glob("*")) != wanted:
        raise ReleaseError(
            f"dist/ should have {sorted(path.name for path in wanted)}, but has "
            f"{sorted(path.name for path in dist.glob('*'))}: run make release-check"
        )
    return artefacts


def build_from_sdist(sdist: Path, folder: Path) -> Path:
    """Build a wheel from an unpacked source distribution, and return it."""
    shutil.unpack_archive(sdist, folder)
    return build_wheel(folder / sdist.name.removesuffix(".tar.gz"), folder / "wheel")


def build_wheel(source: Path, out: Path) -> Path:
    """Build a wheel from a source tree into an empty folder, and return it."""
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source])
    (wheel,) = out.glob("*.whl")
    return wheel


def check_installed(wheel: Path, folder: Path) -> str:
    """Install the wheel with constraints.txt, read a table there, and use command and types.

    Returns:
        One line on what was read.
    """
    python = new_environment(folder / "installed")
    table = extract_case(folder)
    install(python, "--constraint", CONSTRAINTS, wheel)
    report = run([python, "-I", SMOKE, *answers_of_case(), table, folder / "installed"])
    without_extra = run([python.parent / "hudi-py", "--help"], is_failure_expected=True)
    if "cli" not in without_extra:
        raise ReleaseError(f"hudi-py without its extra does not name the extra:\n{without_extra}")
    install(python, f"{wheel}[cli]")
    run([python.parent / "hudi-py", "count", table])
    check_types(python, folder)
    return report


def check_types(python: Path, folder: Path) -> None:
    """Check the calls of `tests/typing/api.py` against the types of the installed package."""
    install(python, "mypy>=2.0", "typing_extensions")
    copied = shutil.copy(TYPED_CALLS, folder)  # beside the checkout mypy would take its sources
    options = ["--strict", "--ignore-missing-imports", "--config-file=", "--no-incremental"]
    run([python, "-m", "mypy", *options, copied])


def install(python: Path, *requirements: str | Path) -> None:
    """Install packages with the pip of a Python."""
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    run([python, *pip, *requirements])


def check_zip(artefacts: Artefacts, folder: Path) -> str:
    """Read a table with the zip on `sys.path`, where only the dependencies are installed.

    Returns:
        One line on what was read.
    """
    python = folder / "installed" / "bin" / "python"
    table = extract_case(folder)
    run([python, "-m", "pip", "--disable-pip-version-check", "uninstall", "-qy", "hudi-pyspark"])
    case = answers_of_case()
    return run([python, "-I", SMOKE, *case, table, artefacts.zip, artefacts.zip])


def new_environment(folder: Path) -> Path:
    """Create a virtual environment with nothing but pip, and return its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def extract_case(folder: Path) -> Path:
    """Unzip the golden table, and return its base path."""
    with zipfile.ZipFile(CASE / "table.zip") as archive:
        archive.extractall(folder)
    return folder / CASE.name


def answers_of_case() -> tuple[str, Path]:
    """Return the queries of the golden table as JSON, and the zip of Apache Hudi's answers."""
    facts = tomllib.loads((CASE / "case.toml").read_text(encoding="utf-8"))
    return json.dumps(facts["queries"]), CASE / "answers.zip"


def run(command: Sequence[str | Path], *, is_failure_expected: bool = False) -> str:
    """Run a command outside of the checkout, and return its output.

    Raises:
        ReleaseError: it failed, or did not fail although that was expected.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=elsewhere,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if (done.returncode != 0) is not is_failure_expected:
        raise ReleaseError(
            f"{' '.join(map(str, command))} ended with exit code {done.returncode}:\n{done.stdout}"
        )
    return done.stdout.strip()


def main() -> int:
    """Run all checks; return the exit code."""
    project = project_table(PROJECT)
    version = project["version"]
    try:
        check_versions(PROJECT, version)
        _passed(f"version {version} fits changelog and docs")
        check_public_home(PROJECT, Version(version), project.get("urls", {}))
        _passed("public home: as far as it is known, in each place that names it")
        artefacts = find_artefacts(PROJECT / "dist", version)
        with zipfile.ZipFile(artefacts.wheel) as wheel:
            about = f"hudi_pyspark-{version}.dist-info"
            check_metadata(message_from_bytes(wheel.read(f"{about}/METADATA")), project)
            check_files(wheel.namelist(), PROJECT)
            check_bill_of_materials(wheel, about, project)
        _passed("wheel: metadata, files and bill of materials are complete")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            check_same_content(write_zip(artefacts.wheel, folder / "zip"), artefacts.zip)
            _passed("zip: same content as the wheel, without the tools")
            check_same_bytes(artefacts.wheel, build_wheel(PROJECT, folder / "checkout"))
            check_same_bytes(artefacts.wheel, build_from_sdist(artefacts.sdist, folder / "sdist"))
            _passed("wheel: same bytes again, from the checkout and from the source distribution")
            _passed(
                f"installed wheel: {check_installed(artefacts.wheel, folder)}; types are included"
            )
            _passed(f"zip on sys.path: {check_zip(artefacts, folder)}")
    except ReleaseError as error:
        print(f"failed  {error}", file=sys.stderr)
        return 1
    files = (artefacts.wheel, artefacts.sdist, artefacts.zip)
    sizes = ", ".join(f"{path.name} {path.stat().st_size // 1000} kB" for path in files)
    is_draft = "dev" in artefacts.wheel.name
    verdict = "complete, but a development version is not released" if is_draft else "complete"
    print(f"{sizes}: {verdict}")
    return 0


def _passed(line: str) -> None:
    print(f"ok      {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
