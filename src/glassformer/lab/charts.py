"""Charts as SVG; `charts.js` draws the same when the numbers change."""

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from ..lessons.lesson import Chart
from .marks import Values
from .numbers import number

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 34


def _bounds(numbers: list[float], log: bool) -> tuple[float, float]:
    usable = [x for x in numbers if math.isfinite(x) and (x > 0 or not log)]
    if not usable:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = min(usable), max(usable)
    if not log:
        low = min(low, 0.0)
    if low == high:
        high = low * 10 if log else low + 1
    return low, high


def _share(x: float, low: float, high: float, log: bool) -> float | None:
    if not math.isfinite(x) or (log and x <= 0):
        return None
    if log:
        x, low, high = math.log10(x), math.log10(low), math.log10(high)
    return (x - low) / (high - low)


def ticks(low: float, high: float, log: bool) -> list[float]:
    """Where an axis is labelled: powers of ten, or four equal steps."""
    if log:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        step = max(1, math.ceil(len(powers) / 6))
        found = [10.0**p for p in powers][::step]
        return found if len(found) > 1 else [low, high]
    return [low + (high - low) * k / 4 for k in range(5)]


def spoken(x: float) -> str:
    """A tick's number: short."""
    if x != 0 and not 1e-2 <= abs(x) < 1e5:
        mantissa, exponent = f"{x:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return number(x, 0 if abs(x) >= 10 or x == round(x) else 2, given=True)


def chart(block: Chart, values: Values, names: Sequence[str] = ()) -> Markup:
    """The chart with its axes and lines; `names` of its points."""
    xs = [float(x) for x in values[block.x].ravel()]
    columns = [[float(y) for y in values[line.y].ravel()] for line in block.lines]
    named = [float(y) for y in values[block.points.y].ravel()] if block.points else []
    marks = [(float(values[x][0, 0]), float(values[y][0, 0])) for x, y in block.marks]
    x_low, x_high = _bounds(xs + [x for x, _ in marks], block.log_x)
    y_low, y_high = _bounds([y for ys in columns for y in ys] + named + [y for _, y in marks], block.log_y)

    def place(x: float, y: float) -> tuple[float, float] | None:
        across, up = _share(x, x_low, x_high, block.log_x), _share(y, y_low, y_high, block.log_y)
        if across is None or up is None:
            return None
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )

    parts = []
    for x in ticks(x_low, x_high, block.log_x):
        at = place(x, y_low)
        assert at is not None
        parts.append(
            f'<line class="grid" x1="{at[0]:.1f}" x2="{at[0]:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text class="x" x="{at[0]:.1f}" y="{HEIGHT - 12}">{spoken(x)}</text>'
        )
    for y in ticks(y_low, y_high, block.log_y):
        at = place(x_low, y)
        assert at is not None
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at[1]:.1f}" y2="{at[1]:.1f}"/>'
            f'<text class="y" x="{LEFT - 8}" y="{at[1] + 4:.1f}">{spoken(y)}</text>'
        )
    for n, ys in enumerate(columns):
        # A straight line to a point that is no longer drawn would be invented: such points are left out.
        placed = [p for x, y in zip(xs, ys, strict=True) if (p := place(x, y))]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline class="line{n}" points="{path}"/>')
    for x, y, name in zip(xs, named, names, strict=False):
        if at := place(x, y):
            end = " end" if at[0] > WIDTH / 2 else ""  # towards the middle, where there is room
            parts.append(
                f'<circle class="point" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4"/>'
                f'<text class="name{end}" x="{at[0]:.1f}" y="{at[1]:.1f}">{escape(name)}</text>'
            )
    for x, y in marks:
        if at := place(x, y):
            parts.append(f'<circle class="mark" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="5"/>')
    return Markup("".join(parts))
