"""Golden tables under state of the process that a caller may have set: the same rows as Hudi's."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark import HudiError, HudiTable
from tests.conftest import GOLDEN
from tests.golden.case import load_case
from tests.process_state import drawn_state

CASES = [
    "v6_cow_orc",
    "v6_mor_payload_awsdms",
    "v9_cow_no_meta_fields",
    "v9_mor_multi_ordering",
    "v9_mor_mdt_indexes",
    "v9_mor_timestamp_ntz",
    "v10_mor_multi_ordering",
]


def texts(rows):
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.property
@pytest.mark.filterwarnings("ignore")
@given(seed=st.integers(0, 2**32), case=st.sampled_from(CASES))
def test_rows_do_not_depend_on_the_state_of_the_process(golden_table, seed, case):
    random = Random(seed)
    path = golden_table(case)
    known = load_case(GOLDEN / case).queries
    query = random.choice([q for q in known if q.answer is not None])
    expected = query.expected_rows()
    # The wall clock of a range is that of the writer's zone, which was UTC.
    with drawn_state(random, zones=False):
        found = HudiTable(path).scan(**query.options).to_arrow()
    assert texts(found.select(expected.schema.names)) == texts(expected)


@pytest.mark.parametrize("zone_seed", range(6))
@pytest.mark.parametrize("case", ["v9_mor_multi_ordering", "v9_mor_timestamp_ntz"])
def test_snapshots_do_not_depend_on_the_zone_of_the_process(golden_table, case, zone_seed):
    (query,) = [q for q in load_case(GOLDEN / case).queries if q.name == "snapshot"]
    expected = query.expected_rows()
    with drawn_state(Random(zone_seed)):
        found = HudiTable(golden_table(case)).scan(**query.options).to_arrow()
    assert texts(found.select(expected.schema.names)) == texts(expected)


LONG = "12345678901234567890.123456789012345678"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "options", [{}, {"use_metadata_table": "false"}, {"data_skipping": "false"}]
)
def test_wide_decimals_are_found_in_any_context(practice_folder, seed, options):
    counts = {f"d = {LONG}": 1, f"d >= -{LONG}": 2, f"d IN (-{LONG}, 1)": 1, f"d < -{LONG}": 0}
    with drawn_state(Random(seed)):
        table = HudiTable(practice_folder)
        found = {c: table.scan(filter=c, **options).count() for c in counts}
    assert found == counts


@pytest.fixture(scope="module")
def practice_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decimals")
    return load_case(GOLDEN.parent / "practice" / "decimal_bounds" / "dec_min_c").extract(folder)


@pytest.mark.parametrize("digits", [641, 5_000])
@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_many_digits_are_refused_by_name(practice_folder, digits, seed):
    table = HudiTable(practice_folder)
    with drawn_state(Random(seed)):
        for number in ("9" * digits, f"{'9' * digits}.5"):
            with pytest.raises(HudiError, match="cannot be compared"):
                table.scan(filter=f"d = {number}")
