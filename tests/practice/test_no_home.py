"""A process without a home folder: no HOME, and a user without an entry.

Containers with arbitrary users, services and cron start such processes. A folder that is named is
used, or one of Spark; without any, no merge is kept, and all rows come.
"""

from pathlib import Path
from typing import Any

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, StorageError
from hudi_pyspark.reading.base_files import other_formats
from hudi_pyspark.reading.merge.outcome_files import cache_folder
from hudi_pyspark.storage import hosts
from hudi_pyspark.storage.stores import gcs
from tests.cli.command import in_process
from tests.damage import unpack
from tests.memory_storage import MemoryStorage

VARIABLES = ("HOME", "XDG_CACHE_HOME", "SPARK_LOCAL_DIRS", "USERPROFILE", "APPDATA")


@pytest.fixture(autouse=True)
def _no_home(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def fail(*_: object) -> None:
        raise KeyError("getpwuid(): uid not found: 12345")

    pwd = pytest.importorskip("pwd")  # not on Windows
    monkeypatch.setattr(pwd, "getpwuid", fail)
    with pytest.raises(RuntimeError):
        Path.home()


@pytest.fixture
def path(tmp_path):
    return str(unpack("v9_mor_clustering", tmp_path))


def is_kept(path: str, **options: Any) -> bool:
    table = HudiTable(path)
    expected = sorted(map(repr, table.scan(merge_cache="off").to_arrow().to_pylist()))
    for _ in range(2):
        found = table.scan(merge_cache="disk", **options).to_arrow().to_pylist()
        assert sorted(map(repr, found)) == expected
    explained = HudiTable(path).scan(merge_cache="disk", **options).explain()
    return "merged before" in explained and " 0 of " not in explained


def test_named_folder_is_used(path, tmp_path):
    assert is_kept(path, merge_cache_folder=str(tmp_path / "kept"))
    assert any((tmp_path / "kept").iterdir())


@pytest.mark.parametrize("variable", ["SPARK_LOCAL_DIRS", "XDG_CACHE_HOME"])
def test_folder_of_the_environment_is_used(variable, path, tmp_path, monkeypatch):
    monkeypatch.setenv(variable, str(tmp_path / "kept"))
    assert is_kept(path)
    assert any((tmp_path / "kept").iterdir())


def test_without_any_folder_no_merge_is_kept(path):
    assert cache_folder("", {}) is None
    assert not is_kept(path)
    HudiTable(path).scan(merge_cache="disk")._plan_groups()


def test_command_says_that_there_is_no_folder(tmp_path):
    for command in ("show", "clear"):
        ended = in_process("cache", command)
        assert ended.code != 0
        assert "--folder" in ended.err
        assert in_process("cache", command, "--folder", str(tmp_path)).code == 0


def test_path_in_a_home_folder_is_refused():
    for path in ("~", "~/lake/orders"):
        with pytest.raises(InvalidOptionError, match="this user has none: set HOME"):
            HudiTable(path)


def test_no_login_of_google_is_looked_for_beside_the_process(tmp_path, monkeypatch):
    """As in a folder named None."""
    login = tmp_path / "None/.config/gcloud/application_default_credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosts, "is_proxied", lambda: False)
    monkeypatch.setattr(hosts, "connection_problem", lambda *_: "refused")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    assert not gcs._has_identity()
    monkeypatch.setenv("HOME", str(tmp_path / "None"))
    assert gcs._has_identity()


def test_machine_without_a_folder_for_temporary_files_names_what_it_is_for(monkeypatch):
    def fail() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", fail)
    told = r"f\.lance: a copy in the folder for temporary files cannot be written: No usable"
    with (
        pytest.raises(StorageError, match=told),
        other_formats._local_file(MemoryStorage({"f.lance": b"1"}), "f.lance"),
    ):
        pass
