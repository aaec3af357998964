"""How tables become narrow: what goes first, and that nothing is wider than asked for."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hudi_pyspark.cli.printing import Column, fit

ID = "4facb1b4-c19b-4e8a-a45e-2fe528f24aae-0"
PATH = f"apac/.{ID}_20261121063211642.log.1_1-5306-8731"
TIMES = Column("time", ("20261121063211338", "20261121063211642"))


def fitted(width: int, *columns: Column):
    found = fit(columns, width, gap=2)
    assert found is not None
    return [(column.name, *column.cells, given) for column, given in found]


def test_columns_that_fit_stay():
    assert fitted(24, Column("a_b", (ID[:8],)), Column("n", ("12",), is_number=True)) == [
        ("a_b", "4facb1b4", 8),
        ("n", "12", 2),
    ]


def test_long_headers_are_broken_first():
    columns = [Column("log_count", ("1",), is_number=True), Column("log_bytes", ("2",))]
    assert fitted(12, *columns) == [("log_\ncount", "1", 5), ("log_\nbytes", "2", 5)]


def test_a_path_keeps_both_ends_and_instants_stay_whole():
    path = Column("path", (PATH,))
    assert fitted(30, path) == [("path", "apac/.4facb1b4…g.1_1-5306-8731", 30)]
    assert fitted(39, Column("time", TIMES.cells[:1]), path)[0] == ("time", TIMES.cells[0], 17)


def test_numbers_and_instants_that_do_not_fit_are_not_cut():
    assert fit([Column("n", ("1" * 30,), is_number=True)], 20, gap=2) is None
    assert fit([TIMES], 16, gap=2) is None


@given(
    cells=st.lists(st.text(st.sampled_from("ab日 /_-."), max_size=60), min_size=1, max_size=3),
    name=st.sampled_from(["file_id", "partition_path", "other"]),
    width=st.integers(1, 80),
)
def test_no_line_is_wider_than_the_terminal(cells, name, width):
    found = fit([Column(name, tuple(cells)), Column("n", ("1",), is_number=True)], width, gap=2)
    for column, given_width in found or ():
        assert not column.is_path or max(map(cell_len, column.cells)) <= given_width
    assert sum(given_width for _, given_width in found or ()) + 2 <= max(width, 2)
