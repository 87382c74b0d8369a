"""Charts as SVG; `charts.js` draws the same when the numbers change."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from ..axes import WIDTH, Axes, Axis
from ..lessons.lesson import Chart
from .marks import Values


def chart(block: Chart, values: Values, names: Sequence[str] = ()) -> Markup:
    """The chart with its axes and lines; `names` of its points."""
    xs = [float(x) for x in values[block.x].ravel()]
    columns = [[float(y) for y in values[line.y].ravel()] for line in block.lines]
    named = [float(y) for y in values[block.points.y].ravel()] if block.points else []
    marks = [(float(values[x][0, 0]), float(values[y][0, 0])) for x, y in block.marks]
    axes = Axes(
        Axis.around(xs + [x for x, _ in marks], block.log_x),
        Axis.around([y for ys in columns for y in ys] + named + [y for _, y in marks], block.log_y),
    )
    place, parts = axes.place, axes.grid()
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
