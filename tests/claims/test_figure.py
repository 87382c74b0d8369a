"""Figures: points where they belong, in both languages, and nothing invented where there is no number."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.axes import Axis
from glassformer.claims.figure import Figure, Series, drawing, spread, svg
from glassformer.texts import Text

LABEL = Text("<标签>", "<label>")


def figure(*series, **settings):
    return Figure(LABEL, LABEL, LABEL, series, **settings)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_file_is_whole_xml_and_text_is_text(language):
    drawn = ET.fromstring(svg(figure(Series(LABEL, [1, 2], [3, 4])), language))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count(getattr(LABEL, language)) == 2  # title and legend


def test_points_stand_at_their_place_with_their_intervals():
    drawn = drawing(figure(Series(LABEL, [0, 1], [0.0, 4.0], [0.0, 2.0], [1.0, 4.0])), "en")
    assert '<path class="dots line0" d="M64.0 266.0h0M624.0 14.0h0"/>' in drawn
    assert '<path class="interval line0" d="M64.0 266.0V203.0M624.0 140.0V14.0"/>' in drawn


def test_what_cannot_be_placed_is_left_out():
    drawn = drawing(figure(Series(LABEL, [1, 10, 100], [1.0, 0.0, 10.0]), log_x=True, log_y=True), "en")
    assert drawn.count("h0") == 2


def test_formulas_are_lines_without_dots():
    assert "dots" not in drawing(figure(Series(LABEL, [1, 2], [3, 4], dots=False)), "en")


def test_names_take_the_place_of_numbers():
    names = (Text("甲", "first"), Text("乙", "second"))
    drawn = drawing(figure(Series(LABEL, [0, 1], [3, 4]), x_names=names), "zh")
    assert re.findall(r'class="x"[^>]*>([^<]*)<', drawn) == ["甲", "乙"]


def test_more_series_than_colours_are_refused():
    with pytest.raises(AssertionError):
        figure(*[Series(LABEL, [1], [1])] * 7)


def test_values_of_seeds_are_a_mean_with_its_interval():
    found = spread(LABEL, [5, 6], [[1, 2, 3], [0.9, 1.0, 0.8]], within=(-0.25, 3))
    assert (found.x, found.y) == ([5, 6], pytest.approx([2, 0.9]))
    assert found.low == pytest.approx([-0.25, 0.9 - 0.4303 / 3**0.5], abs=1e-4)
    assert found.high == pytest.approx([3, 0.9 + 0.4303 / 3**0.5], abs=1e-4)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-235.0, 181.0, [-300, -200, -100, 0, 100, 200]),
        (0.0, 1.0, [0, 0.25, 0.5, 0.75, 1]),
        (0.5, 4.0, [0, 1, 2, 3, 4]),
        (0.0, 7.67, [0, 2, 4, 6, 8]),
    ],
)
def test_axes_are_labelled_at_round_numbers(low, high, ticks):
    assert Axis(low, high).rounded().ticks() == pytest.approx(ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_rounded_axes_hold_what_they_held(low, length):
    axis = Axis(low, low + length).rounded()
    slack = 1e-6 * length
    assert axis.low <= low + slack
    assert low + length <= axis.high + slack
    assert 3 <= len(axis.ticks()) <= 8
