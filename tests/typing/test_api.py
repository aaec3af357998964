"""`api.py` names the whole public API, and what mypy checks there also runs."""

import shutil
from pathlib import Path

import pytest

import hudi_pyspark
from tests.project.errors_page import error_classes
from tests.typing import api

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = Path(api.__file__).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    shutil.unpack_archive(PROJECT / "examples" / "data" / "orders_cdc.zip", folder)
    return str(folder / "orders_cdc")


def test_every_public_name_but_errors_is_used():
    errors = {error.__name__ for error in error_classes()}
    assert [name for name in set(hudi_pyspark.__all__) - errors if name not in SOURCE] == []


def test_what_is_type_checked_runs(path):
    table = hudi_pyspark.HudiTable(path)
    instant = table.inspect.commits()["requested_time"][0].as_py()
    api.read_without_spark(table, instant)
    api.look_inside(table)


def test_errors_are_caught_as_typed(tmp_path):
    assert api.catch(str(tmp_path / "nothing")).startswith("[HUDI_PATH_NOT_FOUND]")
