"""Named points of a chart: where they stand, and names that are text and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.axes import spoken
from glassformer.lab.charts import chart
from glassformer.lessons.lesson import Chart, Points, Text

MAP = Chart(Text("", ""), "x", Text("", ""), Text("", ""), points=Points("y", "names"))
VALUES = {"x": np.array([[-1.0], [1.0], [np.nan]]), "y": np.array([[2.0], [0.0], [1.0]])}


def test_a_name_stands_beside_its_point_and_inside_the_picture():
    drawn = chart(MAP, VALUES, ["left", "right", "nowhere"])
    assert drawn.count('class="point"') == 2
    assert 'class="name" x="76.0" y="14.0">left<' in drawn
    assert 'class="name end" x="604.0" y="266.0">right<' in drawn
    assert "nowhere" not in drawn


def test_names_are_text():
    drawn = chart(MAP, VALUES, ["</svg><script>", "&"])
    assert "&lt;/svg&gt;&lt;script&gt;" in drawn
    assert ">&amp;<" in drawn
    assert "<script" not in drawn


def test_no_tick_is_rounded_to_nothing():
    assert [spoken(10.0**p) for p in range(-5, 6)] == [
        *("1e-5", "1e-4", "1e-3", "0.01", "0.1", "1", "10", "100", "1,000", "10,000", "1e5")
    ]
    assert spoken(0) == "0"


@pytest.mark.parametrize(
    ("step", "labels"),
    [
        (0.025, ["−0.025", "0", "0.025", "0.05", "0.075"]),
        (2.5, ["−2.5", "0", "2.5", "5", "7.5"]),
        (2.5e-4, ["−2.5e-4", "0", "2.5e-4", "5e-4", "7.5e-4"]),
        (25_000, ["−25,000", "0", "25,000", "50,000", "75,000"]),
        (1.847, ["−1.85", "0", "1.85", "3.69", "5.54"]),
    ],
)
def test_ticks_have_the_digits_that_their_step_needs(step, labels):
    assert [spoken(k * step, step) for k in range(-1, 4)] == labels


@given(st.sampled_from([1.0, 2.0, 2.5, 5.0]), st.integers(-12, 12), st.integers(-8, 8))
def test_no_two_ticks_have_the_same_label(leading, power, k):
    step = leading * 10.0**power
    assert spoken(k * step, step) != spoken((k + 1) * step, step)
