"""Files of the metadata table whose records are of another partition than their names say."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hudi_pyspark import thresholds
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.metadata_table.table import MetadataTable
from hudi_pyspark.table.view import open_table
from tests.memory_storage import MemoryStorage
from verification.common.archives import files_of
from verification.damage.damages import Damage, outcome_of
from verification.damage.tables import SAME

CASES = ["v6_mor_mdt_indexes", "v9_mor_mdt_indexes", "v10_mor_mdt_indexes", "x_v8_mor_ix_secondary"]
QUESTIONS = {
    "all": lambda s: [entries.decode([]) for entries in s.all() if entries.hfile],
    "find": lambda s: s.find(pa.array(["nobody"], pa.string())),
    "find-before-the-first-key": lambda s: s.find(pa.array([""], pa.string())),
    "find_prefixes": lambda s: s.find_prefixes(["nobody"]),
    "some_keys": lambda s: s.some_keys(),
}


def slices_by_partition(case):
    """The slices with entries of each partition of a metadata table."""
    view = open_table(MemoryStorage(files_of(case)))
    metadata = MetadataTable(view)
    partitions = sorted(view.config.metadata_partitions)
    return {
        name: [
            s for s in metadata.slices(name, check_files=True) if any(len(e.keys) for e in s.all())
        ]
        for name in partitions
    }


@pytest.mark.parametrize("most_bytes", [0, 1 << 20], ids=["read-in-ranges", "read-whole"])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("case", CASES)
def test_slice_says_nothing_of_any_key_if_its_records_are_of_another_partition(
    case, question, most_bytes, monkeypatch
):
    monkeypatch.setattr(thresholds, "MOST_BYTES_AS_A_WHOLE", most_bytes)
    slices = slices_by_partition(case)
    assert len(slices) >= 3
    for partition, own_slices in slices.items():
        for own in own_slices:
            QUESTIONS[question](own)
            for other in set(slices) - {partition}:
                foreign = replace(own, file_slice=replace(own.file_slice, partition_path=other))
                with pytest.raises(
                    CorruptTableError, match=f"expected (records|deletes) of {other}"
                ):
                    QUESTIONS[question](foreign)


def test_log_of_another_partition_and_the_same_commit_loses_no_row(caplog):
    """Its block is of the commit that names the file, and has no key of the listing."""
    folder, log = ".hoodie/metadata/", "0000-0_20261121063221403.log.1_"
    path = f"{folder}files/.files-{log}2-5583-9225"
    other = f"{folder}partition_stats/.partition-stats-{log}1-5583-9224"
    assert outcome_of("v9_mor_mdt_indexes", Damage("swap", path, 0, other)).verdict == SAME
    assert "files are found by listing folders" in caplog.text
    assert "expected records of files, found one of type 6" in caplog.text
