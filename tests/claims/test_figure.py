"""Figures: points where they belong, in both languages, and nothing invented where there is no number."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.axes import HEIGHT, LABEL_SIZE, NAME_SIZE, WIDTH, Axis, text_width, wrapped
from glassformer.claims import MODULES, claim, measured
from glassformer.claims.figure import TITLE_SIZE, Figure, Series, drawing, spread, svg, together
from glassformer.texts import Text

LABEL = Text("<标签>", "<label>")
SVG = "{http://www.w3.org/2000/svg}"
KEPT = [
    pytest.param(figure, language, id=f"{name}-{n}-{language}")
    for name in MODULES
    for n, figure in enumerate(claim(name).figures(measured(name)), 1)
    for language in ("zh", "en")
]
every_kept_figure = pytest.mark.parametrize(("kept", "language"), KEPT)


def figure(*series, **settings):
    return Figure(LABEL, LABEL, LABEL, series, **settings)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_file_is_whole_xml_and_text_is_text(language):
    drawn = ET.fromstring(svg(figure(Series(LABEL, [1, 2], [3, 4])), language))
    texts = [element.text for element in drawn.iter(f"{SVG}text")]
    assert texts.count(getattr(LABEL, language)) == 2  # title and legend


def test_points_stand_at_their_place_with_their_intervals():
    drawn = drawing(figure(Series(LABEL, [0, 1], [0.0, 4.0], [0.0, 2.0], [1.0, 4.0])), "en")
    assert '<path class="dots line0" d="M76.0 266.0h0M604.0 14.0h0"/>' in drawn
    assert '<path class="interval line0" d="M76.0 266.0V203.0M604.0 140.0V14.0"/>' in drawn


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


def test_what_several_series_have_at_a_name_stands_side_by_side():
    names = (LABEL, LABEL)
    drawn = drawing(figure(*[Series(LABEL, [0, 1], [3, 4])] * 3, x_names=names), "en")
    places = re.findall(r'class="dots[^"]*" d="M([\d.]+)', drawn)
    assert list(map(float, places)) == pytest.approx([208 - 52.8, 208, 208 + 52.8])


def test_series_of_the_same_points_become_one_with_both_names():
    first, other = Series(Text("甲", "a"), [1, 2], [3, 4]), Series(Text("乙", "b"), [1, 2], [3, 5])
    same = Series(Text("丙", "c"), (1, 2), (3, 4))
    assert [series.label for series in together([first, other, same])] == [
        Text("甲；丙", "a; c"),
        other.label,
    ]


def test_a_limit_is_a_line_across_with_its_name():
    drawn = drawing(figure(Series(LABEL, [0, 4], [0, 1]), limit=(1, LABEL)), "en")
    assert '<path class="limit" d="M208.0 266.0V14.0"/>' in drawn
    assert ">&lt;label&gt;</text>" in drawn


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ([16, 64, 512], ["16", "64", "512"]),
        ([10, 11, 1000], ["10", "100", "1,000"]),  # 10 and 11 have no room beside each other
    ],
)
def test_measured_sizes_are_labelled_where_they_have_room(sizes, labels):
    drawn = drawing(figure(Series(LABEL, sizes, [1] * 3), log_x=True), "en")
    assert re.findall(r'class="x"[^>]*>([^<]*)<', drawn) == labels


def test_few_powers_of_ten_are_not_the_only_labels():
    drawn = drawing(figure(Series(LABEL, [0, 1], [4, 60]), log_y=True), "en")
    assert re.findall(r'class="y"[^>]*>([^<]*)<', drawn) == ["5", "10", "20", "50"]


@given(st.text("字，。 ab（）-"), st.integers(20, 200))
def test_wrapped_texts_lose_nothing_and_keep_their_width(text, width):
    lines = wrapped(text, width, 10)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line, 10) <= width or len(wrapped(line, width, 10)) == 1 for line in lines)


def test_no_line_begins_with_what_closes():
    assert wrapped("甲乙丙，（丁）戊", 30, 10) == ["甲乙", "丙，", "（丁）", "戊"]


@every_kept_figure
def test_labels_of_kept_figures_stand_apart_and_inside(kept, language):
    drawn = ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{drawing(kept, language)}</svg>')
    boxes = [_box(text) for text in drawn.iter(f"{SVG}text")]
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= WIDTH
        assert bottom <= HEIGHT
    for n, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:n]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def _box(text):
    """What a label covers on a narrow screen, where it is largest: left, top, right, bottom."""
    kind, x, y = text.get("class"), float(text.get("x")), float(text.get("y"))
    lines = [text.text, *(span.text for span in text)]
    size = NAME_SIZE if kind == "x" else LABEL_SIZE
    width = max(text_width(line, size) for line in lines)
    left = x - {"x": width / 2, "y": width}.get(kind, 0)
    return left, y - 0.7 * size, left + width, y + 1.15 * size * (len(lines) - 1)


@every_kept_figure
def test_no_series_of_a_kept_figure_hides_another(kept, language):
    """Points of the same kind, with a line or without, are never all on one spot."""
    dots = re.findall(r'<path class="dots line\d" d="([^"]*)"', drawing(kept, language))
    joined = [series.joined for series in kept.series if series.dots]
    assert len(set(zip(dots, joined, strict=True))) == len(joined)


@every_kept_figure
def test_files_of_kept_figures_hold_their_titles(kept, language):
    drawn = ET.fromstring(svg(kept, language))
    titles = [text.text for text in drawn.iter(f"{SVG}text") if text.get("class") == "title"]
    assert all(text_width(title, TITLE_SIZE) <= WIDTH - 16 for title in titles)
