"""How tables become narrow: what goes first, and that nothing is wider than asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hudi_pyspark.cli.fitting import Column, fit, lines_of, wrap

ID = "4facb1b4-c19b-4e8a-a45e-2fe528f24aae-0"
PATH = f"apac/.{ID}_20261121063211642.log.1_1-5306-8731"
TIMES = Column("time", ("20261121063211338", "20261121063211642"))


def fitted(width: int, *columns: Column):
    found = fit(columns, width)
    assert found is not None
    gap, fitted_columns = found
    return gap, [(column.name, *column.cells) for column in fitted_columns]


def test_columns_that_fit_stay():
    assert fitted(24, Column("a_b", (ID[:8],)), Column("n", ("12",), is_number=True)) == (
        2,
        [("a_b", "4facb1b4"), ("n", "12")],
    )


def test_long_headers_are_broken_before_gaps_get_narrower():
    columns = [Column("log_count", ("1",), is_number=True), Column("log_bytes", ("2",))]
    assert fitted(12, *columns) == (2, [("log_\ncount", "1"), ("log_\nbytes", "2")])
    assert fitted(11, *columns) == (1, [("log_\ncount", "1"), ("log_\nbytes", "2")])


def test_file_id_keeps_its_beginning_and_a_path_both_ends():
    assert fitted(20, Column("file_id", (ID,))) == (2, [("file_id", "4facb1b4-c19b-4e8a-…")])
    assert fitted(30, Column("path", (PATH,))) == (2, [("path", "apac/.4facb1b4…g.1_1-5306-8731")])


def test_instants_lose_what_all_of_them_begin_with_and_only_if_nothing_else_helps():
    path = Column("path", (PATH, PATH))
    assert fitted(39, TIMES, path)[1][0] == ("time", *TIMES.cells)
    assert fitted(30, TIMES, path)[1][0] == ("time", "…211338", "…211642")


def test_other_text_is_broken_into_lines_between_words():
    text = "before: one, after: another one"
    assert fitted(24, Column("columns", (text,))) == (
        2,
        [("columns", "before: one, after:\nanother one")],
    )


def test_numbers_and_instants_that_do_not_fit_are_not_cut():
    assert fit([Column("n", ("1" * 30,), is_number=True)], 20) is None
    assert fit([Column("time", ("20261121063211338",))], 16) is None


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("one two", 7, ["one two"]),
        ("one two", 5, ["one", "two"]),
        ("folder/file_name.ext", 12, ["folder/file_", "name.ext"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("日本語日本語", 5, ["日本", "語日", "本語"]),
    ],
)
def test_lines_end_between_words_or_after_signs(text, width, lines):
    assert wrap(text, width).split("\n") == lines


@given(text=st.text(st.sampled_from("ab日 /_-.\\"), max_size=60), width=st.integers(2, 20))
def test_wrapping_loses_only_blanks_and_keeps_to_the_width(text, width):
    wrapped = wrap(text, width)
    assert max(cell_len(line) for line in lines_of(wrapped)) <= width
    assert "".join(wrapped.split()) == "".join(text.split())


@given(
    cells=st.lists(st.text(st.sampled_from("ab日 /_-."), max_size=60), min_size=1, max_size=3),
    name=st.sampled_from(["file_id", "partition_path", "other"]),
    width=st.integers(1, 80),
)
def test_no_line_is_wider_than_the_terminal(cells, name, width):
    found = fit([Column(name, tuple(cells)), TIMES], width)
    if found is not None:
        gap, columns = found
        assert sum(column.width for column in columns) + gap <= width
