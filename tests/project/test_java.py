"""`.ci/java.py` on machines that these tests make up: commands are small shell scripts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.project.ci_java import java

STRIPPED = (
    "Error occurred during initialization of boot layer\nModule jdk.incubator.vector not found"
)


def write_command(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def java_script(home: Path, version: str) -> str:
    return (
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"echo '    java.vm.specification.version = {version}' >&2"
    )


def add_java(home: Path, version: str) -> Path:
    write_command(home / "bin" / "java", java_script(home, version))
    return home


@pytest.fixture
def machine(tmp_path):
    """An empty machine: its root folder, a home, a project and a folder on the PATH."""
    folders = {name: tmp_path / name for name in ("root", "home", "project", "bin")}
    for folder in folders.values():
        folder.mkdir()
    env = {"PATH": str(folders["bin"]), "HOME": str(folders["home"])}
    return SimpleNamespace(env=env, **folders)


def find(machine: SimpleNamespace) -> Any:
    return java.find(machine.env, machine.project, machine.root)


def test_machine_without_java_has_none(machine):
    assert find(machine) is None


@pytest.mark.parametrize(
    "place",
    [
        "root/usr/lib/jvm/java-17-openjdk-amd64",
        "root/usr/java/jdk-17",
        "root/opt/jdk-17",
        "root/opt/java/openjdk",
        "root/Library/Java/JavaVirtualMachines/temurin-17.jdk/Contents/Home",
        "home/.sdkman/candidates/java/17.0.9-tem",
        "home/.jdk/jdk-17.0.9+9",
        "project/.java/jdk-17.0.9+9-jre",
        "project/.java/jdk-17.0.9+9-jre/Contents/Home",
    ],
)
def test_java_is_found_in_usual_folder(machine, tmp_path, place):
    home = add_java(tmp_path / place, "17")
    assert find(machine) == java.Java(home, 17)


def test_java_home_comes_before_the_path(machine, tmp_path):
    chosen = add_java(tmp_path / "chosen", "17")
    write_command(machine.bin / "java", java_script(tmp_path / "other", "17"))
    machine.env["JAVA_HOME"] = str(chosen)
    assert find(machine).home == chosen


def test_command_on_the_path_names_its_own_home(machine, tmp_path):
    write_command(machine.bin / "java", java_script(tmp_path / "somewhere", "21"))
    assert find(machine) == java.Java(tmp_path / "somewhere", 21)


def test_java_home_that_does_not_exist_is_passed_over(machine, tmp_path):
    machine.env["JAVA_HOME"] = str(tmp_path / "gone")
    home = add_java(machine.root / "usr/lib/jvm/java-21", "21")
    assert find(machine).home == home


@pytest.mark.parametrize("version", ["17", "21"])
def test_long_term_release_is_preferred_to_newer_one(machine, tmp_path, version):
    machine.env["JAVA_HOME"] = str(add_java(tmp_path / "newest", "25"))
    home = add_java(machine.root / "usr/lib/jvm/lts", version)
    assert find(machine).home == home


def test_newer_java_is_better_than_none(machine):
    home = add_java(machine.root / "usr/lib/jvm/temurin-25", "25")
    assert find(machine) == java.Java(home, 25)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(java_script(Path("/old"), "1.8"), id="java-8"),
        pytest.param(java_script(Path("/old"), "11"), id="java-11"),
        pytest.param("echo Unrecognized option: --add-modules >&2; exit 1", id="option-unknown"),
        pytest.param(f"echo '{STRIPPED}' >&2; exit 1", id="module-missing"),
        pytest.param("echo 'No Java runtime present' >&2; exit 1", id="macos-stub"),
        pytest.param("exit 0", id="silent"),
    ],
)
def test_java_that_spark_cannot_use_is_passed_over(machine, script):
    write_command(machine.root / "usr/lib/jvm/bad/bin/java", script)
    assert find(machine) is None


def test_file_that_cannot_be_started_is_passed_over(machine):
    path = write_command(machine.root / "usr/lib/jvm/bad/bin/java", "")
    path.chmod(0o644)
    assert find(machine) is None


def test_same_java_is_asked_once(machine):
    home = add_java(machine.root / "usr/lib/jvm/java-17", "17")
    (machine.root / "usr/lib/jvm/default").symlink_to(home)
    (machine.bin / "java").symlink_to(home / "bin" / "java")
    assert len(list(java.candidates(machine.env, machine.project, machine.root))) == 1


def install(machine: SimpleNamespace, *, is_root: bool, python: Path | str) -> Any:
    return java.install(
        machine.env, machine.project, machine.root, is_root=is_root, python=str(python)
    )


def fake_installer(target: Path, *, only_if: str) -> str:
    """A script that puts a Java 17 at `target` when its arguments match the pattern `only_if`."""
    made = target / "bin" / "java"
    body = java_script(target, "17").replace("'", '"')
    return (
        f'case "$*" in {only_if}) /bin/mkdir -p {made.parent}\n'
        f"printf '#!/bin/sh\\n%s\\n' '{body}' > {made}\n"
        f"/bin/chmod 755 {made};; esac"
    )


def test_root_gets_java_from_apt_without_any_question(machine):
    home = machine.root / "usr/lib/jvm/java-17-openjdk-amd64"
    script = fake_installer(home, only_if="*openjdk-17-jre-headless*")
    write_command(
        machine.bin / "apt-get", f'[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 9\n{script}'
    )
    assert install(machine, is_root=True, python="/nonexistent") == java.Java(home, 17)


def test_next_package_is_tried_where_the_system_lacks_the_first(machine):
    home = machine.root / "usr/lib/jvm/java-21-openjdk-amd64"
    refuse = 'case "$*" in *openjdk-17*) echo "E: Unable to locate package" >&2; exit 100;; esac'
    script = fake_installer(home, only_if="*openjdk-21-jre-headless*")
    write_command(machine.bin / "apt-get", f"{refuse}\n{script}")
    assert install(machine, is_root=True, python="/nonexistent").home == home


def test_user_who_is_not_root_gets_java_in_the_project(machine):
    write_command(machine.bin / "apt-get", "exit 99")
    home = machine.project / ".java" / "jdk-17-jre"
    python = write_command(
        machine.bin / "python", fake_installer(home, only_if="*jdk.install*True")
    )
    assert install(machine, is_root=False, python=python) == java.Java(home, 17)


def test_full_jdk_is_fetched_where_the_small_runtime_will_not_do(machine):
    home = machine.project / ".java" / "jdk-17"
    python = write_command(
        machine.bin / "python", fake_installer(home, only_if="*jdk.install*False")
    )
    assert install(machine, is_root=False, python=python).home == home


@pytest.mark.parametrize(
    ("is_root", "says"),
    [
        (True, "apt-get will install openjdk-17-jre-headless into the system"),
        (False, "one will be downloaded into .java/ of this project"),
    ],
)
def test_what_will_be_installed_is_said_before(machine, is_root, says):
    write_command(machine.bin / "apt-get", "exit 1")
    said = java.plan({"PATH": str(machine.bin)}, None, is_root=is_root)
    assert said == f"There is no Java 17 or newer, which Spark needs: {says}"


def test_java_that_is_there_is_named(tmp_path):
    found = java.Java(tmp_path, 21)
    assert java.plan({}, found, is_root=True) == f"Java 21 is there: {tmp_path}"


def test_machine_without_network_gets_none_and_says_why(machine, capsys):
    failing = "echo 'E: Temporary failure resolving' >&2; exit 100"
    write_command(machine.bin / "apt-get", failing)
    python = write_command(machine.bin / "python", failing)
    assert install(machine, is_root=True, python=python) is None
    assert "apt-get failed: E: Temporary failure resolving" in capsys.readouterr().err


def test_script_prints_the_home_and_nothing_else(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(java, "find", lambda: java.Java(tmp_path, 17))
    assert java.main([]) == 0
    assert capsys.readouterr().out == f"{tmp_path}\n"


def test_script_without_java_says_in_one_line_what_to_run(monkeypatch, capsys):
    monkeypatch.setattr(java, "find", lambda: None)
    assert java.main([]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "sudo apt-get install -y openjdk-17-jre-headless" in shown.err
