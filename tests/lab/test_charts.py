"""Named points of a chart: where they stand, and names that are text and nothing else."""

import numpy as np

from glassformer.axes import spoken
from glassformer.lab.charts import chart
from glassformer.lessons.lesson import Chart, Points, Text

MAP = Chart(Text("", ""), "x", Text("", ""), Text("", ""), points=Points("y", "names"))
VALUES = {"x": np.array([[-1.0], [1.0], [np.nan]]), "y": np.array([[2.0], [0.0], [1.0]])}


def test_a_name_stands_beside_its_point_and_inside_the_picture():
    drawn = chart(MAP, VALUES, ["left", "right", "nowhere"])
    assert drawn.count('class="point"') == 2
    assert 'class="name" x="64.0" y="14.0">left<' in drawn
    assert 'class="name end" x="624.0" y="266.0">right<' in drawn
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
