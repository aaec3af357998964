"""The door of decimals: exact in any context that a caller may have set."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_pyspark.exact_decimals import (
    is_whole,
    largest_decimal,
    parse_decimal,
    round_half_up,
    scaled_decimal,
)
from tests.process_state import drawn_state

seeds = st.integers(0, 2**32)
unscaled = st.integers(-(10**76), 10**76)


@pytest.mark.property
@given(seed=seeds, number=unscaled, scale=st.integers(-76, 76))
def test_scaled_decimals_are_exact(seed, number, scale):
    with drawn_state(Random(seed)):
        found = scaled_decimal(number, scale)
    assert Fraction(found) == Fraction(number) / Fraction(10) ** scale


@pytest.mark.property
@given(seed=seeds, number=unscaled, scale=st.integers(0, 38))
def test_rounding_takes_halves_away_from_zero(seed, number, scale):
    with drawn_state(Random(seed)):
        found = round_half_up(scaled_decimal(number, 38), scale)
    step = Fraction(1, 10**scale)
    whole, rest = divmod(abs(Fraction(number, 10**38)), step)
    rounded = (whole + (rest * 2 >= step)) * step
    assert Fraction(found) == (rounded if number >= 0 else -rounded)


@pytest.mark.property
@given(seed=seeds, number=unscaled, scale=st.integers(0, 76))
def test_texts_are_parsed_exactly(seed, number, scale):
    with drawn_state(Random(seed)):
        found = parse_decimal(f"{number}e-{scale}")
        assert is_whole(found) == (number % 10**scale == 0)
    assert Fraction(found) == Fraction(number, 10**scale)


@pytest.mark.parametrize("text", ["", "x", "nan", "-inf", "1e99999999999999999999", "1,5"])
@pytest.mark.parametrize("seed", range(5))
def test_texts_without_a_number_are_refused(text, seed):
    with drawn_state(Random(seed)), pytest.raises(ValueError, match="is not a decimal number"):
        parse_decimal(text)


def test_the_largest_number_has_only_nines():
    assert str(largest_decimal(38, 18)) == "9" * 20 + "." + "9" * 18
    assert str(largest_decimal(3, 0)) == "999"
