"""Figures of claims: what they show, and the same as SVG."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from ..axes import (
    BOTTOM,
    HEIGHT,
    LABEL_LINE,
    LEFT,
    NAME_SIZE,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    Axis,
    apart,
    spoken,
    wrapped,
)
from ..texts import Language, Text
from .statistics import Mean, mean

NOT_NEGATIVE = (0.0, math.inf)
MOST_SERIES = 6
LINE_HEIGHT = 20  # of the legend and the titles in a file of its own
SIDE_BY_SIDE, MOST_SHIFT = 0.6, 0.2  # what all series take between two names; one from the next at most


@dataclass(frozen=True)
class Series:
    """Points with intervals `low` to `high` around them where these are known; `joined` by a line. What is a
    formula and not measured is drawn without `dots`."""

    label: Text
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    joined: bool = True
    dots: bool = True


def means(
    label: Text,
    x: Sequence[float],
    found: Sequence[Mean],
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
    joined: bool = True,
) -> Series:
    """Means at each x with their intervals, as far as these lie `within` what can be."""
    low = [max(m.low, within[0]) for m in found]
    high = [min(m.high, within[1]) for m in found]
    return Series(label, x, [m.mean for m in found], low, high, joined=joined)


def spread(
    label: Text,
    x: Sequence[float],
    values: Sequence[Sequence[float]],
    *,
    within: tuple[float, float] = (-math.inf, math.inf),
    joined: bool = True,
) -> Series:
    """The means of several values at each x, with their intervals of 95 %, as far as these lie `within` what
    can be."""
    return means(label, x, list(map(mean, values)), within=within, joined=joined)


def together(series: Iterable[Series]) -> tuple[Series, ...]:
    """The same, but those of the same points as one, with all their names: of lines on one spot one would see
    the last alone."""
    found: list[Series] = []
    for each in series:
        same = [n for n, other in enumerate(found) if _points(other) == _points(each)]
        if same:
            other = found[same[0]]
            label = Text(f"{other.label.zh}；{each.label.zh}", f"{other.label.en}; {each.label.en}")
            found[same[0]] = replace(other, label=label)
        else:
            found.append(each)
    return tuple(found)


def _points(series: Series) -> list[list[float]]:
    return [list(numbers) for numbers in (series.x, series.y, series.low, series.high)]


@dataclass(frozen=True)
class Figure:
    """Series over common axes. With `x_names` the x are 0, 1, 2 … and these are their names; what several
    series have there is drawn side by side. `limit`: an x with a line across, and what it says."""

    title: Text
    x_label: Text
    y_label: Text
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    x_names: tuple[Text, ...] = ()
    limit: tuple[float, Text] | None = None

    def __post_init__(self) -> None:
        assert 0 < len(self.series) <= MOST_SERIES


def drawing(figure: Figure, language: Language) -> Markup:
    """The inside of an <svg> of WIDTH x HEIGHT: grid, lines, points and intervals, coloured by classes."""
    named = _names(figure, language)
    further = max(map(len, named.values()), default=1) - 1
    axes = Axes(
        _across(figure),
        _up(figure),
        BOTTOM + math.ceil(further * LABEL_LINE * NAME_SIZE),
    )
    parts = axes.grid({x: [str(escape(line)) for line in lines] for x, lines in named.items()})
    if figure.limit:
        parts.append(_line_across(axes, *figure.limit, language))
    points = []  # above all lines
    for n, series in enumerate(figure.series):
        # Nothing is drawn for a point that has no place, and no line across it.
        xs = [x + _shift(figure, n) for x in series.x]
        places = [at for x, y in zip(xs, series.y, strict=True) if (at := axes.place(x, y))]
        if series.joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="line{n}" points="{path}"/>')
        ends = [
            (bottom, top)
            for x, low, high in zip(xs, series.low, series.high, strict=bool(series.low))
            if (bottom := axes.place(x, low)) and (top := axes.place(x, high))
        ]
        if ends:
            path = "".join(f"M{x:.1f} {bottom:.1f}V{top:.1f}" for (x, bottom), (_, top) in ends)
            points.append(f'<path class="interval line{n}" d="{path}"/>')
        if series.dots:
            path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
            points.append(f'<path class="dots line{n}" d="{path}"/>')
    return Markup("".join([*parts, *points]))


def _names(figure: Figure, language: Language) -> dict[float, list[str]]:
    """The lines of the name at each x."""
    room = (WIDTH - LEFT - RIGHT) / max(1, len(figure.x_names))
    return {
        float(i): wrapped(getattr(name, language), room, NAME_SIZE) for i, name in enumerate(figure.x_names)
    }


def _across(figure: Figure) -> Axis:
    """The axis of x. One that counts in powers is labelled at the measured sizes if there is room."""
    if figure.x_names:
        return Axis(-0.5, len(figure.x_names) - 0.5)
    xs = [x for series in figure.series for x in series.x]
    axis = Axis.around(xs, figure.log_x, zero=False).rounded()
    if not figure.log_x:
        return axis
    places = {x: share for x in sorted(set(xs)) if (share := axis.share(x)) is not None}
    centres = [share * (WIDTH - LEFT - RIGHT) for share in places.values()]
    return replace(axis, places=tuple(places)) if apart(centres, list(map(spoken, places))) else axis


def _up(figure: Figure) -> Axis:
    """The axis of y. One of few powers of ten is labelled at twice and five times these, too."""
    ys = [y for series in figure.series for y in (*series.y, *series.low, *series.high)]
    axis = Axis.around(ys, figure.log_y).rounded()
    if not figure.log_y or axis.high > 1000 * axis.low:
        return axis
    powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)))
    places = [m * 10.0**p for p in powers for m in (1, 2, 5) if axis.low <= m * 10.0**p <= axis.high]
    return replace(axis, places=tuple(places)) if len(places) > 1 else axis


def _shift(figure: Figure, n: int) -> float:
    """How far the series of this number stands beside the name it belongs to."""
    if not figure.x_names:
        return 0.0
    return min(MOST_SHIFT, SIDE_BY_SIDE / len(figure.series)) * (n - (len(figure.series) - 1) / 2)


def _line_across(axes: Axes, x: float, text: Text, language: Language) -> str:
    bottom, top = axes.place(x, axes.up.low), axes.place(x, axes.up.high)
    assert bottom
    assert top
    return (
        f'<path class="limit" d="M{bottom[0]:.1f} {bottom[1]:.1f}V{top[1]:.1f}"/>'
        f'<text x="{top[0] + 6:.1f}" y="{TOP + 16}">{escape(getattr(text, language))}</text>'
    )


def svg(figure: Figure, language: Language) -> str:
    """The figure as a file of its own, with title, legend and colours for light and dark."""

    def told(text: Text, width: float, size: float) -> list[str]:
        return [str(escape(line)) for line in wrapped(getattr(text, language), width, size)]

    across, up = (
        Text(f"{label.zh} {arrow}", f"{label.en} {arrow}")
        for label, arrow in ((figure.x_label, "→"), (figure.y_label, "↑"))
    )
    title = told(figure.title, WIDTH - 16, TITLE_SIZE)
    heads = [("title", line) for line in title]
    heads += [("label", line) for line in told(up, WIDTH - 16, TEXT_SIZE)]
    above = LINE_HEIGHT * len(heads) + 8
    parts = [
        f'<text class="{kind}" x="8" y="{LINE_HEIGHT * (n + 1)}">{line}</text>'
        for n, (kind, line) in enumerate(heads)
    ]
    parts.append(f'<g transform="translate(0 {above})">{drawing(figure, language)}</g>')
    y = above + HEIGHT + 12
    for line in told(across, WIDTH - 16 - RIGHT, TEXT_SIZE):
        parts.append(f'<text class="label end" x="{WIDTH - RIGHT}" y="{y}">{line}</text>')
        y += LINE_HEIGHT
    for n, series in enumerate(figure.series):
        parts.append(
            f'<line class="key line{n}" x1="24" x2="52" y1="{y}" y2="{y}"/>'
            f'<path class="dots line{n}" d="M38 {y}h0"/>'
        )
        for line in told(series.label, WIDTH - 62 - 8, TEXT_SIZE):
            parts.append(f'<text class="legend" x="62" y="{y + 4}">{line}</text>')
            y += LINE_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" '
        f'width="{WIDTH}" role="img" lang="{"zh-Hans" if language == "zh" else "en"}">'
        f"<title>{escape(getattr(figure.title, language))}</title><style>{STYLE}</style>"
        f'<rect class="paper" width="{WIDTH}" height="{y}"/>{"".join(parts)}</svg>\n'
    )


TEXT_SIZE, TITLE_SIZE = 13, 15
STYLE = (
    "svg{--paper:#fbf9f5;--ink:#23211e;--soft:#6a645c;--rule:#ddd7cc;"
    "--0:#b23a26;--1:#1e5aa0;--2:#8a6a00;--3:#23211e;--4:#2e7d4f;--5:#7a3fa0;"
    f"font:{TEXT_SIZE}px system-ui,'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif}}"
    "@media(prefers-color-scheme:dark){svg{--paper:#1b1a18;--ink:#ece7df;--soft:#aaa398;--rule:#3d3934;"
    "--0:#e06046;--1:#5c9ce0;--2:#e0b84a;--3:#ece7df;--4:#7fd0a0;--5:#c59be8}}"
    ".paper{fill:var(--paper)}text{fill:var(--soft)}"
    f".title{{fill:var(--ink);font-size:{TITLE_SIZE}px}}"
    ".legend{fill:var(--ink)}.x{text-anchor:middle;font-size:12px}.y,.end{text-anchor:end}.y{font-size:12px}"
    ".grid{stroke:var(--rule)}.limit{stroke:var(--soft);stroke-dasharray:4 4}"
    "polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}"
    ".interval,.key{stroke-width:2.2}.dots{stroke-width:7;stroke-linecap:round}"
    + "".join(f".line{n}{{stroke:var(--{n})}}" for n in range(MOST_SERIES))
)
