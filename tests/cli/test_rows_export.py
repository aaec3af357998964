"""Files that `scan --to` writes."""

import os

import pytest

from tests.cli.command import in_process
from tests.damage import data_file, unpack

MOR = "v6_mor_part_basic"


@pytest.fixture
def damaged(tmp_path):
    """A table of which a committed log file has lost its last bytes."""
    table = unpack(MOR, tmp_path)
    log = data_file(table, ".*.log.*")
    log.write_bytes(log.read_bytes()[:-20])
    return str(table)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_scan_that_fails_leaves_no_file(damaged, tmp_path, suffix):
    target = tmp_path / "out" / f"rows.{suffix}"
    target.parent.mkdir()
    assert in_process("scan", damaged, "--to", str(target)).code == 1
    assert [*target.parent.iterdir()] == []


def test_scan_that_fails_leaves_the_file_that_it_was_to_replace(damaged, tmp_path):
    target = tmp_path / "out" / "rows.csv"
    target.parent.mkdir()
    target.write_text("rows of yesterday")
    assert in_process("scan", damaged, "--to", str(target), "--force").code == 1
    assert target.read_text() == "rows of yesterday"
    assert [*target.parent.iterdir()] == [target]


def test_scan_writes_the_file_and_nothing_beside_it(golden_table, tmp_path):
    target = tmp_path / "out" / "rows.csv"
    target.parent.mkdir()
    assert in_process("scan", str(golden_table(MOR)), "--to", str(target)).code == 0
    assert len(target.read_text().splitlines()) > 1
    assert [*target.parent.iterdir()] == [target]


def test_scan_writes_through_a_link(golden_table, tmp_path):
    target, link = tmp_path / "rows of today.csv", tmp_path / "rows.csv"
    target.write_text("rows of yesterday")
    link.symlink_to(target)
    assert in_process("scan", str(golden_table(MOR)), "--to", str(link), "--force").code == 0
    assert link.is_symlink()
    assert len(target.read_text().splitlines()) > 1


def test_scan_writes_into_a_pipe(golden_table, tmp_path):
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    # Opened for both, so that no end of the pipe waits for the other.
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        ended = in_process("scan", str(golden_table(MOR)), "--to", str(pipe), "--force", "-n", "1")
        assert ended.code == 0
        assert pipe.is_fifo()
        assert len(os.read(reader, 1 << 16).splitlines()) == 2
    finally:
        os.close(reader)


def test_scan_leaves_a_file_of_the_user_with_a_similar_name(golden_table, tmp_path):
    target, other = tmp_path / "rows.csv", tmp_path / "rows.csv.part"
    other.write_text("mine")
    assert in_process("scan", str(golden_table(MOR)), "--to", str(target)).code == 0
    assert other.read_text() == "mine"


def test_file_that_is_replaced_keeps_its_permissions(golden_table, tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("rows of yesterday")
    target.chmod(0o600)
    assert in_process("scan", str(golden_table(MOR)), "--to", str(target), "--force").code == 0
    assert len(target.read_text().splitlines()) > 1
    assert target.stat().st_mode & 0o777 == 0o600
