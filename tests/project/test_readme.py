"""README and docs are true of this checkout: code runs as written, and what they name exists."""

import logging
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.golden.deviations import accepted_deviations
from tests.storage.s3_server import serve

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
OTHERS = [PROJECT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "verification/README.md")]
README = PAGES[0].read_text(encoding="utf-8")
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
each_page = pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: page.name)


def code_of(page: Path) -> str:
    """The Python blocks of a page, joined: later ones use the names of earlier ones."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def run(page: Path, folder: Path) -> dict[str, Any]:
    """Run the code of a page in the checkout, with a folder of the test's for `build`.

    Pages unpack the same tables, and tests run at the same time.
    """
    code = re.sub(r"(?<![\w./-])build(?=[/\"'])", str(folder), code_of(page))
    for table in ("orders", "orders_cdc"):  # by an earlier page
        shutil.unpack_archive(f"examples/data/{table}.zip", folder)
    names: dict[str, Any] = {}
    exec(compile(code, page.name, "exec"), names)
    logging.getLogger("hudi_pyspark").setLevel(logging.NOTSET)  # docs/logs-and-metrics.md
    return names


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch):
    monkeypatch.chdir(PROJECT)


@pytest.mark.spark
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES[1:] if "SparkSession" in code_of(page)],  # the README: see below
    ids=lambda page: page.name,
)
@pytest.mark.usefixtures("spark")
def test_page_with_spark_runs(page, tmp_path):
    run(page, tmp_path)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if code_of(page) and "SparkSession" not in code_of(page)],
    ids=lambda page: page.name,
)
def test_page_without_spark_runs(page, tmp_path):
    run(page, tmp_path)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_readme_shows_the_rows_that_hudi_reads(capsys, tmp_path):
    names = run(PROJECT / "README.md", tmp_path)
    # The answers of Apache Hudi 1.2.0 (golden case v9_mor_part_basic).
    shown = re.findall(r"^\|\s*\w+\|\s*(\d+)\|$", capsys.readouterr().out, re.MULTILINE)
    assert sum(map(int, shown)) == 47
    assert (names["then"], names["changed"].num_rows) == (30, 28)
    assert set(names["rows"].column_names) == {"id", "amount"}


def test_first_table_is_read_from_a_store_with_the_protocol_of_s3(monkeypatch, tmp_path, capsys):
    text = (PROJECT / "docs" / "first-table-on-s3.md").read_text(encoding="utf-8")
    code = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0].replace("…", "key")
    shutil.unpack_archive("examples/data/orders.zip", tmp_path)
    with serve(tmp_path) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
        exec(code, {})
    assert capsys.readouterr().out == "47\n"
    assert any("eu-central-1" in found for found in server.credentials)


def anchors(page: Path) -> set[str]:
    """What links to headings of a page end in, as GitHub makes it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    for link, anchor in links:
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


@each_page
def test_files_tests_and_targets_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = r"\b((?:hudi_pyspark|tests|verification)/[\w./-]*[\w/])"
    for path, name in re.findall(rf"`{folders}(?:::(\w+))?`", text):
        assert (PROJECT / path).exists(), path
        if name:
            code = (PROJECT / path).read_text(encoding="utf-8")
            assert re.search(rf"^(?:def|class) {name}\b", code, re.MULTILINE), f"{path}::{name}"
    for path in re.findall(r"\b(tests/[\w/]+\.py)", text):
        assert (PROJECT / path).is_file(), path
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in MAKEFILE, target


@each_page
def test_prose_is_wrapped(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    long = [line for line in text.splitlines() if len(line) > 100]
    assert [line for line in long if not re.match(r"\||!\[|#|\S+$", line)] == []


def test_every_deployment_names_its_test_or_says_that_it_has_none():
    text = (PROJECT / "docs" / "platforms.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| Deployment .*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    for row in table.splitlines():
        assert "`tests/" in row or "**not tested**" in row, row


def test_readme_is_short():
    lines = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 70


@pytest.mark.spark
@pytest.mark.usefixtures("spark_environment")
@pytest.mark.parametrize(
    "names_python",
    [
        pytest.param(True, id="example", marks=pytest.mark.cluster),
        pytest.param(False, id="register"),
    ],
)
def test_first_example_runs_in_a_python_that_is_not_on_the_path(
    tmp_path, monkeypatch, names_python
):
    """As in a notebook: the first python3 on the PATH has no package at all."""
    venv.EnvBuilder(symlinks=True).create(tmp_path / "bare")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bare' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH"):
        monkeypatch.delenv(name)
    code = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
    if not names_python:
        code = re.sub(r"^os\.environ.*\n", "", code, flags=re.MULTILINE)
    code += "\nassert orders.count() == 47\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_accepted_deviation_is_in_the_docs():
    page = (PROJECT / "docs" / "supported.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| (D\d+) \|", page, re.MULTILINE))
    assert {deviation.rule for deviation in accepted_deviations().values()} <= documented
