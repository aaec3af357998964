"""What a table says of itself, without reading any file."""

from __future__ import annotations

from collections import Counter

import pytest

from hudi_pyspark import HudiTable
from hudi_pyspark.inspection.description import describe
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.wording import byte_text
from tests.memory_storage import MemoryStorage
from tests.table.tiny_table import TinyTable, base

MOR = "v9_mor_compaction_inline"


class CountingStorage(MemoryStorage):
    """Counts what is asked of a storage."""

    def __init__(self, files):
        super().__init__(files)
        self.calls: Counter[str] = Counter()

    def list_directory(self, directory):
        self.calls[f"list {directory}"] += 1
        return super().list_directory(directory)

    def read_bytes(self, path):
        self.calls["read"] += 1
        return super().read_bytes(path)


def written(commits: int) -> TinyTable:
    table = TinyTable()
    for number in range(commits):
        time = f"{10 + 10 * number:03}"
        table.write(time, "deltacommit", f"p/{base(f'f{number}', time)}")
    return table


def test_opening_reads_the_properties_and_lists_the_timeline_once(monkeypatch):
    storage = CountingStorage(written(3).files)
    monkeypatch.setattr(ArrowStorage, "parse", classmethod(lambda *_given: storage))
    HudiTable("memory")
    assert storage.calls == {"read": 1, "list .hoodie/timeline": 1}


def test_describing_reads_nothing_and_lists_nothing(monkeypatch):
    storage = CountingStorage(written(12).files)
    monkeypatch.setattr(ArrowStorage, "parse", classmethod(lambda *_given: storage))
    table = HudiTable("memory")
    storage.calls.clear()
    assert "of 12 commits" in repr(table)
    assert "of 12 commits" in table._repr_html_()
    assert storage.calls == {}


def test_text_tells_what_the_table_is(golden_table):
    path = golden_table(MOR)
    assert repr(HudiTable(str(path))).splitlines() == [
        f"HudiTable {MOR}",
        f"  path        {path}",
        "  type        MERGE_ON_READ, table version 9",
        "  record key  id",
        "  ordering    ts",
        "  partitions  region",
        "  last commit 20261121062710569 (deltacommit), of 6 commits",
    ]


def test_html_has_the_same_rows_and_escapes_them():
    table = TinyTable(table__name="a<b", table__partition__fields="x,y").open()
    html = describe(table).to_html()
    assert "<b>HudiTable a&lt;b</b>" in html
    assert "x, y" in html


def test_table_without_commits_says_so():
    rows = dict(describe(TinyTable().open()).rows())
    assert rows["last commit"] == "none"
    assert (rows["record key"], rows["ordering"], rows["partitions"]) == (
        "not named",
        "none",
        "none",
    )


def test_one_commit_is_the_last_commit():
    rows = dict(describe(written(1).open()).rows())
    assert rows["last commit"] == "010 (deltacommit), of 1 commit"


def test_damaged_commits_do_not_matter():
    table = written(2).instant("030_035.deltacommit", b"{broken")
    rows = dict(describe(table.open()).rows())
    assert rows["last commit"] == "030 (deltacommit), of 3 commits"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (12_345_678_901, "12.3 GB"),
        (1_500_000_000_000_000, "1.5 PB"),
    ],
)
def test_bytes_are_told_in_the_unit_that_fits(count, text):
    assert byte_text(count) == text
