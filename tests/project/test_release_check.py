"""`.ci/release_check.py`: what it accepts, and what it says of what it does not."""

import re
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from packaging.version import Version

import hudi_pyspark
from tests.project.ci_script import load

release = load("release_check")

PROJECT = {
    "name": "hudi-pyspark",
    "version": "1.0.0",
    "description": "Reads",
    "license": "Apache-2.0",
    "license-files": ["LICENSE"],
    "requires-python": ">=3.10",
    "classifiers": ["Typing :: Typed"],
    "dependencies": ["numpy>=1.26"],
    "optional-dependencies": {"pandas": ["pandas>=2.0,<3"]},
}


def checkout(folder, *, changelog="## 1.0.0 - 2026-01-31", page=""):
    files = {
        "hudi_pyspark/version.py": '__version__ = "1.0.0"\n',
        "CHANGELOG.md": f"# Changelog\n\n{changelog}\n",
        "README.md": "# hudi-pyspark\n",
        "docs/platforms.md": page,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def metadata() -> Message:
    fields = [
        ("Name", "hudi-pyspark"),
        ("Version", "1.0.0"),
        ("Summary", "Reads"),
        ("License-Expression", "Apache-2.0"),
        ("License-File", "LICENSE"),
        ("Requires-Python", ">=3.10"),
        ("Description-Content-Type", "text/markdown"),
        ("Classifier", "Typing :: Typed"),
        ("Requires-Dist", "numpy>=1.26"),
        ("Provides-Extra", "pandas"),
        ("Requires-Dist", "pandas<3,>=2.0; extra == 'pandas'"),
    ]
    message = Message()
    for field, value in fields:
        message[field] = value
    message.set_payload("# hudi-pyspark")
    return message


def test_versions_that_agree_are_accepted(tmp_path):
    page = "pip install dist/hudi_pyspark-*.whl"
    release.check_versions(checkout(tmp_path, page=page), "1.0.0")


@pytest.mark.parametrize(
    ("differs", "message"),
    [
        ({"changelog": "## 0.9.0 - 2026-01-31"}, r"needs '## 1\.0\.0 - YYYY-MM-DD'"),
        (
            {"page": "hudi_pyspark-0.1.0.dev0-py3-none-any.whl"},
            r"docs/platforms\.md names a wheel with its version",
        ),
    ],
    ids=["changelog", "page"],
)
def test_file_with_another_version_is_named(tmp_path, differs, message):
    with pytest.raises(release.ReleaseError, match=message):
        release.check_versions(checkout(tmp_path, **differs), "1.0.0")


@pytest.mark.parametrize(
    ("version", "message"),
    [("one", "Invalid version: 'one'"), ("1.0.0-rc1", "should be written 1.0.0rc1")],
)
def test_version_must_be_written_as_it_is_published(tmp_path, version, message):
    with pytest.raises(release.ReleaseError, match=message):
        release.check_versions(checkout(tmp_path), version)


@pytest.mark.parametrize(
    ("version", "changelog"),
    [
        ("1.0.0", "## 1.0.0 - 2026-01-31"),
        ("1.0.0rc1", "## [1.0.0rc1] - 2026-01-31\n\n## 0.9.0 - 2025-01-31"),
        ("0.1.0.dev0", "## Unreleased"),
        ("1.1.0.dev0", "## Unreleased\n\n### Added\n\n## 1.0.0 - 2026-01-31"),
    ],
)
def test_changelog_that_fits_is_accepted(version, changelog):
    release.check_changelog(changelog, Version(version))


@pytest.mark.parametrize(
    ("version", "changelog", "message"),
    [
        ("1.0.0", "## 1.0.0", "begins with '1.0.0'; a release of 1.0.0 needs"),
        ("1.0.0", "## Unreleased\n\n## 1.0.0 - 2026-01-31", "begins with 'Unreleased'"),
        ("1.0.0", "", "begins with 'nothing'"),
        ("1.1.0.dev0", "## 1.0.0 - 2026-01-31", "is a development version: begin with"),
        ("1.0.0.dev0", "## Unreleased\n\n## 1.0.0 - 2026-01-31", r"1\.0\.0\.dev0 is too low"),
    ],
)
def test_changelog_that_does_not_fit_is_refused(version, changelog, message):
    with pytest.raises(release.ReleaseError, match=message):
        release.check_changelog(changelog, Version(version))


def test_complete_metadata_is_accepted():
    release.check_metadata(metadata(), PROJECT)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("License-Expression", r"License-Expression is None, not 'Apache-2\.0'"),
        ("Classifier", r"Classifier differs from pyproject\.toml in \['Typing :: Typed'\]"),
        ("Requires-Dist", r"Requires-Dist differs from pyproject\.toml in \['numpy>=1\.26', "),
    ],
)
def test_missing_field_is_named(field, message):
    incomplete = metadata()
    del incomplete[field]
    with pytest.raises(release.ReleaseError, match=message):
        release.check_metadata(incomplete, PROJECT)


def test_description_must_not_be_empty():
    incomplete = metadata()
    incomplete.set_payload("\n")
    with pytest.raises(release.ReleaseError, match=r"no description \(README\.md\)"):
        release.check_metadata(incomplete, PROJECT)


def test_file_that_the_wheel_lacks_is_named(tmp_path):
    project = checkout(tmp_path)
    with pytest.raises(release.ReleaseError, match=r"\['hudi_pyspark/version\.py'\]"):
        release.check_files(["hudi_pyspark-1.0.0.dist-info/METADATA"], project)


def test_wheel_without_type_marker_is_refused(tmp_path):
    project = checkout(tmp_path)
    with pytest.raises(release.ReleaseError, match=r"no hudi_pyspark/py\.typed"):
        release.check_files(["hudi_pyspark/version.py"], project)


def test_files_that_differ_are_named(tmp_path):
    for name, text in [("one", "1"), ("other", "2")]:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("same", "")
            archive.writestr("different", text)
    with pytest.raises(release.ReleaseError, match=r"differ in \['different'\]"):
        release.check_same_content(tmp_path / "one", tmp_path / "other")
    release.check_same_content(tmp_path / "one", tmp_path / "one")


def test_leftover_in_dist_is_named(tmp_path):
    (tmp_path / "hudi_pyspark-0.9.0.tar.gz").touch()
    with pytest.raises(release.ReleaseError, match=r"has \['hudi_pyspark-0\.9\.0\.tar\.gz'\]"):
        release.find_artefacts(tmp_path, "1.0.0")


def test_command_that_fails_is_shown_with_its_output():
    command = [release.sys.executable, "-c", "import sys; sys.exit('broken')"]
    with pytest.raises(release.ReleaseError, match=r"(?s)exit code 1:\nbroken"):
        release.run(command)


def test_this_checkout_has_one_version():
    project = release.project_table(release.PROJECT)
    assert project["version"] == hudi_pyspark.__version__
    release.check_versions(release.PROJECT, project["version"])
    urls = project["urls"]
    release.check_public_home(release.PROJECT, Version(project["version"]), urls)


HOME = 'repository = "https://example.org/hudi-pyspark"\nsecurity = "https://example.org/report"\n'


def public(folder, home=HOME, **places):
    """A checkout whose places name its public home, unless they are given."""
    (folder / ".ci").mkdir()
    (folder / ".ci" / "public_home.toml").write_text(home)
    for name in ("CITATION.cff", "SECURITY.md"):
        (folder / name).write_text(places.get(name.partition(".")[0], HOME))
    return folder


def test_release_says_where_the_project_is(tmp_path):
    urls = {"Repository": "https://example.org/hudi-pyspark"}
    release.check_public_home(public(tmp_path), Version("1.0.0"), urls)


def test_development_version_may_leave_its_home_open(tmp_path):
    home = public(tmp_path, 'repository = ""\nsecurity = ""\n', CITATION="", SECURITY="")
    release.check_public_home(home, Version("1.0.0.dev0"), {})
    with pytest.raises(release.ReleaseError, match="a release needs repository, security"):
        release.check_public_home(home, Version("1.0.0"), {})


@pytest.mark.parametrize("place", ["CITATION", "SECURITY"])
def test_place_that_lacks_the_home_is_named(tmp_path, place):
    urls = {"Repository": "https://example.org/hudi-pyspark"}
    with pytest.raises(release.ReleaseError, match=rf"{place}\.\w+ lacks https://example\.org"):
        release.check_public_home(public(tmp_path, **{place: ""}), Version("1.0.0"), urls)


def test_smoke_prints_one_line_and_no_warning(tmp_path):
    queries, answers = release.answers_of_case()
    table = release.extract_case(tmp_path)
    home = Path(hudi_pyspark.__file__).parents[1]
    shown = release.run([sys.executable, "-I", release.SMOKE, queries, answers, table, home])
    assert re.fullmatch(r"hudi_pyspark \S+: \d+ queries equal", shown)
