"""Words as a picture: points in a plane, each with its word beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.space import WordSpace
from ..errors import UserError
from ..output import whole
from . import fonts

FORMATS = (".png", ".svg", ".pdf")


def draw(space: WordSpace, places: Sequence[int], path: Path) -> list[str]:
    """Draw words into a picture; returns those that no font here can show."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise UserError(f"{path}: name the picture .png, .svg or .pdf")
    if len(places) < 2:
        raise UserError("a map needs two words at least")
    taken = fonts.installed()
    points, words = space.flat(places), [space.words[place] for place in places]
    missing = [] if kind == ".svg" else fonts.missing(words, taken)
    style: Any = {"font.family": taken, "svg.fonttype": "none", "axes.unicode_minus": False}
    with rc_context(style):
        figure = Figure(figsize=(9, 7), layout="constrained")
        axes = figure.add_subplot(xlabel="first principal component", ylabel="second principal component")
        axes.scatter(points[:, 0], points[:, 1], s=9, alpha=0.6)
        for (x, y), word in zip(points.tolist(), words, strict=True):
            shown = word if kind == ".svg" or word not in missing else "?"
            # Not $: matplotlib takes what stands between two of them for a formula.
            axes.annotate(
                shown, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=8, parse_math=False
            )
        axes.margins(0.08)
        axes.grid(alpha=0.2)
        with whole(path) as file:
            figure.savefig(file, format=kind[1:], dpi=130)
    return missing
