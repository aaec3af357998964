import pytest

from hudi_pyspark.metadata_table.table import MetadataTable
from tests.table.tiny_table import TinyTable

ROLLED_BACK = {"commitsRollback": ["005"]}
RESTORED = {"instantsToRollback": ["005"], "hoodieRestoreMetadata": {}}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        pytest.param("006.rollback", ROLLED_BACK, id="rollback"),
        pytest.param("006.restore", RESTORED, id="restore"),
    ],
)
def test_log_blocks_of_what_was_undone_are_valid(name, body):
    table = TinyTable(6).instant("001.deltacommit").instant(name, body).open()
    metadata = MetadataTable(table)
    metadata.view = TinyTable(6).instant("001.deltacommit").open()
    assert "005" not in metadata._valid_among(["001"])
    assert "005" in metadata._valid_among(["001", "005"])
