"""Pages about copies in Iceberg and Delta, and about PyTorch: their code has Apache Hudi's rows."""

from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.frames.golden_rows import bag, snapshot
from tests.project.page_blocks import blocks_of

pytestmark = pytest.mark.engines


@pytest.fixture
def names_of(monkeypatch, tmp_path):
    """Run the code of a page in an empty folder, and return its names."""
    monkeypatch.chdir(tmp_path)

    def run(page: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        exec("\n".join(block.text for block in blocks_of(PROJECT / "docs" / page)), names)
        return names

    return run


def test_copies_in_iceberg_and_delta_have_the_rows_of_apache_hudi(names_of):
    deltalake = pytest.importorskip("deltalake")
    names = names_of("to-iceberg-or-delta.md")
    columns = names["first"].schema
    hudi = snapshot("v9_mor_cdc_data_before_after", columns)
    delta = deltalake.DeltaTable("build/orders_delta").to_pyarrow_table()
    for copy in (names["copy"].scan().to_arrow(), delta):
        assert bag(copy.select(columns.names).cast(columns)) == bag(hudi)


def test_workers_of_pytorch_read_each_row_once(names_of):
    torch = pytest.importorskip("torch", reason="PyTorch takes gigabytes: install it by hand")
    names = names_of("pytorch-and-hugging-face.md")
    loader = torch.utils.data.DataLoader(names["rows"], batch_size=None, num_workers=2)
    read = [int(n) for batch in loader for n in batch["qty"]]
    # Of the snapshot that Apache Hudi 1.2.0 returns (case v9_mor_part_basic), without nulls.
    assert (len(read), sum(read), sum(n * n for n in read)) == (42, 1782, 107256)
