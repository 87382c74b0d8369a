import math

import pytest

from glassformer.lab.shades import shade
from glassformer.texts import magnitude, number, power_of_ten


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (0.125, 2, "0.13"),  # half goes away from zero
        (-0.125, 2, "−0.13"),
        (-0.001, 2, "0.00"),  # no sign before nothing
        (1234567.891, 2, "1,234,567.89"),
        (-math.inf, 2, "−∞"),
        (math.nan, 2, "NaN"),
        (2.5e13, 2, "2.50e13"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, decimals, expected):
    assert number(value, decimals) == expected


def test_a_given_number_has_no_zeros_at_its_end():
    assert [number(x, 3, given=True) for x in (2.0, 0.5, 100.0, 0.0)] == ["2", "0.5", "100", "0"]


def test_powers_of_ten_are_the_nearest():
    assert [power_of_ten(x) for x in (-13.6, 0.4, 52.8, -1, 2)] == ["10⁻¹⁴", "2.5", "10⁵³", "0.1", "100.0"]
    assert [magnitude(x) for x in (2e-16, 9e4, 0.0)] == ["10⁻¹⁶", "10⁵", "0"]


def test_shades_tell_masked_from_small():
    assert shade(-math.inf, "scores", 1.0) == "masked"
    assert shade(0.0, "weights", 1.0) == "masked"
    assert shade(1e-9, "weights", 1.0) == "w1"
    assert shade(1.0, "weights", 1.0) == "w10"
    assert (shade(1, "mask", 1), shade(0, "mask", 1)) == ("seen", "hidden")
    assert (shade(-2.0, "scores", 2.0), shade(1.0, "scores", 2.0)) == ("n5", "p3")
    assert shade(0.5, "numbers", 1.0) == ""
