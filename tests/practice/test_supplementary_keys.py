"""Record keys beyond the Basic Multilingual Plane, and a record index that was built for them.

Apache Hudi 1.2.0 wrote the table: keys, then a record index over them, then an upsert of each key.
It sorts keys by UTF-16 and the HFiles of the index by UTF-8, so it finds some keys neither when it
writes, which left them twice, nor when it reads.
"""

import pytest

from hudi_pyspark import HudiTable

ONCE = ["a", "z", "\ufb01z", "\uffeea", "\U0001f600a", "\U0001f600z", "m\ufb01", "m\U0001f600"]
TWICE = ["\ufb01a", "\ue000q", "\U00020000a", "\U0001f680\ufb01"]


@pytest.mark.parametrize("count", [1, 2])
def test_each_key_is_found(practice_table, count):
    table = HudiTable(practice_table("supplementary_keys/bmp_late"))
    for key in ONCE if count == 1 else TWICE:
        assert table.scan(filter=f"id = '{key}'").count() == count
        assert table.scan(filter=f"id = '{key}'", data_skipping="column_stats").count() == count
    keys = ", ".join(f"'{key}'" for key in [*ONCE, *TWICE])
    found = table.scan(["id"], filter=f"id IN ({keys})").to_arrow().column("id").to_pylist()
    assert {*found} == {*ONCE, *TWICE}
