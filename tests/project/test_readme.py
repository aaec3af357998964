"""README and docs are true of this checkout: code runs as written, and what they name exists."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.conftest import GOLDEN
from tests.golden.deviations import accepted_deviations
from tests.project.page_blocks import blocks_of
from tests.storage.s3_server import serve

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
OTHERS = [PROJECT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "verification/README.md")]
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
each_page = pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: page.name)


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch):
    monkeypatch.chdir(PROJECT)


def test_first_table_is_read_from_a_store_with_the_protocol_of_s3(monkeypatch, tmp_path, capsys):
    code = blocks_of(PROJECT / "docs" / "first-table-on-s3.md")[0].text.replace("…", "key")
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


def test_reads_of_the_readme_fit_on_a_phone():
    reads = [block.text.splitlines() for block in blocks_of(PROJECT / "README.md")][2:]
    assert len(reads) == 3
    assert max(map(len, reads)) <= 4
    assert max(len(line) for lines in reads for line in lines) <= 48


@pytest.mark.spark
def test_rows_are_compared_with_an_answer_of_apache_hudi(
    spark, golden_table, monkeypatch, tmp_path
):
    case = GOLDEN / "v9_mor_compaction_inline"
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(case / "answers.zip") as answers:
        Path("answer").write_bytes(answers.read("snapshot.parquet"))
    code = next(
        block.text
        for block in blocks_of(PROJECT / "docs" / "migration.md")
        if "exceptAll" in block.text
    )
    code = code.replace("s3://lake/orders", str(golden_table(case.name)))
    code = code.replace("build/answer", str(tmp_path / "answer"))
    exec(code, {"spark": spark, "options": {}})


def test_every_accepted_deviation_is_in_the_docs():
    page = (PROJECT / "docs" / "differences.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| (D\d+) \|", page, re.MULTILINE))
    assert {deviation.rule for deviation in accepted_deviations().values()} <= documented
