"""Which source tokens a translation read while it wrote, as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import UserError
from ..output import whole
from . import fonts
from .word_map import FORMATS

MOST = 100  # tokens on a side


def require_format(path: Path) -> None:
    """Raise UserError for a picture of no known format."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"{path}: name the picture .png, .svg or .pdf")


def draw(weights_nm: Tensor, source: Sequence[str], target: Sequence[str], path: Path) -> list[str]:
    """Draw weights, a row for each target token, darker for more; returns the tokens that no font here can
    show. Raises UserError for a format that is not known, and for texts too long to be read in a picture."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    require_format(path)
    n, m = weights_nm.shape
    if max(n, m) > MOST:
        raise UserError(f"an alignment of {m} by {n} tokens is too large to draw; {MOST} are the most")
    kind, taken = path.suffix.lower(), fonts.installed()
    missing = [] if kind == ".svg" else fonts.missing([*source, *target], taken)
    style: Any = {"font.family": taken, "svg.fonttype": "none"}
    with rc_context(style):
        figure = Figure(figsize=(2 + 0.3 * m, 1.5 + 0.3 * n), layout="constrained")
        axes = figure.add_subplot(xlabel="source", ylabel="target")
        axes.imshow(weights_nm.numpy(), cmap="Greys", vmin=0, vmax=1, aspect="equal")
        axes.xaxis.set_label_position("top")
        axes.xaxis.tick_top()
        # Not $: matplotlib takes what stands between two of them for a formula.
        for put, labels in ((axes.set_xticks, source), (axes.set_yticks, target)):
            shown = [label if label not in missing else "?" for label in labels]
            put(range(len(shown)), shown, parse_math=False)
        with whole(path) as file:
            figure.savefig(file, format=kind[1:], dpi=130)
    return missing
