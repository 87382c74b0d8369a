"""Figures of claims: what they show, and the same as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ..axes import HEIGHT, WIDTH, Axes, Axis
from ..texts import Language, Text
from .statistics import mean

MOST_SERIES = 6
LINE_HEIGHT = 20  # of the legend and the titles in a file of its own


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
    means = [mean(each) for each in values]
    low = [max(m.low, within[0]) for m in means]
    high = [min(m.high, within[1]) for m in means]
    return Series(label, x, [m.mean for m in means], low, high, joined=joined)


@dataclass(frozen=True)
class Figure:
    """Series over common axes. With `x_names` the x are 0, 1, 2 … and these are their names."""

    title: Text
    x_label: Text
    y_label: Text
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    x_names: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        assert 0 < len(self.series) <= MOST_SERIES


def drawing(figure: Figure, language: Language) -> Markup:
    """The inside of an <svg> of WIDTH x HEIGHT: grid, lines, points and intervals, coloured by classes."""
    xs = [x for series in figure.series for x in series.x]
    if figure.x_names:
        across = Axis(-0.5, len(figure.x_names) - 0.5)
    else:
        across = Axis.around(xs, figure.log_x, zero=False).rounded()
    ys = [y for series in figure.series for y in (*series.y, *series.low, *series.high)]
    axes = Axes(across, Axis.around(ys, figure.log_y).rounded())
    named = {float(i): str(escape(getattr(name, language))) for i, name in enumerate(figure.x_names)}
    parts = axes.grid(named)
    points = []  # above all lines
    for n, series in enumerate(figure.series):
        # Nothing is drawn for a point that has no place, and no line across it.
        places = [at for x, y in zip(series.x, series.y, strict=True) if (at := axes.place(x, y))]
        if series.joined:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="line{n}" points="{path}"/>')
        ends = [
            (bottom, top)
            for x, low, high in zip(series.x, series.low, series.high, strict=bool(series.low))
            if (bottom := axes.place(x, low)) and (top := axes.place(x, high))
        ]
        if ends:
            path = "".join(f"M{x:.1f} {bottom:.1f}V{top:.1f}" for (x, bottom), (_, top) in ends)
            points.append(f'<path class="interval line{n}" d="{path}"/>')
        if series.dots:
            path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
            points.append(f'<path class="dots line{n}" d="{path}"/>')
    return Markup("".join([*parts, *points]))


def svg(figure: Figure, language: Language) -> str:
    """The figure as a file of its own, with title, legend and colours for light and dark."""

    def told(text: Text) -> str:
        return str(escape(getattr(text, language)))

    above, below = 2 * LINE_HEIGHT + 8, LINE_HEIGHT * (len(figure.series) + 1) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {above + HEIGHT + below}" '
        f'width="{WIDTH}" role="img" lang="{"zh-Hans" if language == "zh" else "en"}">',
        f"<title>{told(figure.title)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{above + HEIGHT + below}"/>',
        f'<text class="title" x="8" y="{LINE_HEIGHT}">{told(figure.title)}</text>',
        f'<text class="label" x="8" y="{2 * LINE_HEIGHT}">{told(figure.y_label)} ↑</text>',
        f'<g transform="translate(0 {above})">{drawing(figure, language)}</g>',
        f'<text class="label end" x="{WIDTH - 16}" y="{above + HEIGHT + 12}">{told(figure.x_label)} →</text>',
    ]
    for n, series in enumerate(figure.series):
        y = above + HEIGHT + LINE_HEIGHT * (n + 1) + 10
        parts.append(
            f'<line class="key line{n}" x1="24" x2="52" y1="{y}" y2="{y}"/>'
            f'<path class="dots line{n}" d="M38 {y}h0"/>'
            f'<text class="legend" x="62" y="{y + 4}">{told(series.label)}</text>'
        )
    return "".join([*parts, "</svg>\n"])


STYLE = (
    "svg{--paper:#fbf9f5;--ink:#23211e;--soft:#6a645c;--rule:#ddd7cc;"
    "--0:#b23a26;--1:#1e5aa0;--2:#8a6a00;--3:#23211e;--4:#2e7d4f;--5:#7a3fa0;"
    "font:13px system-ui,'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif}"
    "@media(prefers-color-scheme:dark){svg{--paper:#1b1a18;--ink:#ece7df;--soft:#aaa398;--rule:#3d3934;"
    "--0:#e06046;--1:#5c9ce0;--2:#e0b84a;--3:#ece7df;--4:#7fd0a0;--5:#c59be8}}"
    ".paper{fill:var(--paper)}text{fill:var(--soft)}.title{fill:var(--ink);font-size:15px}"
    ".legend{fill:var(--ink)}.x{text-anchor:middle;font-size:12px}.y,.end{text-anchor:end}.y{font-size:12px}"
    ".grid{stroke:var(--rule)}polyline{fill:none;stroke-width:2.2;stroke-linejoin:round}"
    ".interval,.key{stroke-width:2.2}.dots{stroke-width:7;stroke-linecap:round}"
    + "".join(f".line{n}{{stroke:var(--{n})}}" for n in range(MOST_SERIES))
)
