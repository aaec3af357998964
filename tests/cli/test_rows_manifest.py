"""Manifests: the base files of the read-optimized state, as Apache Hudi reads them."""

import pytest

from tests.cli.command import in_process
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.reading.base_files.bootstrapped_table import bootstrapped


@pytest.mark.parametrize(
    "case", ["v6_mor_part_basic", "v9_mor_compaction_inline", "v9_mor_clustering"]
)
def test_manifest_has_the_files_that_a_read_optimized_query_reads(golden_table, case):
    query = next(q for q in load_case(GOLDEN / case).queries if "read_optimized" in q.name)
    ended = in_process("manifest", str(golden_table(case)))
    paths = ended.out.split()
    assert ended.code == 0
    assert all(path.startswith(str(golden_table(case))) for path in paths)
    names = set(query.expected_rows()["_hoodie_file_name"].to_pylist())
    assert names <= {path.rpartition("/")[2] for path in paths}
    assert len(paths) == len(set(paths))


def test_manifest_of_a_bootstrap_is_refused(tmp_path):
    path = bootstrapped(tmp_path, f"{tmp_path}/source")
    ended = in_process("manifest", str(path))
    assert ended.code == 4
    assert "lacks the data columns" in " ".join(ended.err.split())


def test_manifest_of_files_with_an_older_name_of_a_column_is_refused(golden_table):
    table = str(golden_table("v9_mor_schema_on_read"))
    assert in_process("manifest", table, "--as-of", "20261121065801000").code == 0
    renamed = in_process("manifest", table, "--as-of", "20261121065807797")
    assert (renamed.code, renamed.out) == (4, "")
    assert "'title'" in renamed.err
    assert "Cluster the table" in " ".join(renamed.err.split())
