"""Which labels were taken for which, as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from ..output import whole
from . import fonts
from .alignment import require_format

NUMBERED = 30  # labels; with more, numbers would not fit into the squares
NAMED = 100


def draw(matrix: list[list[int]], labels: list[str], path: Path) -> list[str]:
    """Draw a table of counts, a row for each true label and a column for what it was taken for, darker for a
    larger share of its row; returns the labels that no font here can show. Raises UserError for a format that
    is not known."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    require_format(path)
    kind, taken = path.suffix.lower(), fonts.installed()
    missing = [] if kind == ".svg" else fonts.missing(labels, taken)
    counts, n = np.array(matrix), len(labels)
    shares = counts / counts.sum(1, keepdims=True).clip(min=1)
    side = 2 + 0.45 * min(n, NUMBERED) + 0.08 * max(0, n - NUMBERED)
    style: Any = {"font.family": taken, "svg.fonttype": "none"}
    with rc_context(style):
        figure = Figure(figsize=(side + 1, side), layout="constrained")
        axes = figure.add_subplot(xlabel="taken for", ylabel="label")
        axes.imshow(shares, cmap="Greys", vmin=0, vmax=1, aspect="equal")
        if n <= NAMED:
            shown = [label if label not in missing else "?" for label in labels]
            # Not $: matplotlib takes what stands between two of them for a formula.
            axes.set_xticks(range(n), shown, parse_math=False, rotation=90 if n > 4 else 0)
            axes.set_yticks(range(n), shown, parse_math=False)
        if n <= NUMBERED:
            for i, j in zip(*counts.nonzero(), strict=True):
                ink = "white" if shares[i, j] > 0.5 else "black"
                axes.text(j, i, f"{counts[i, j]:,}", ha="center", va="center", color=ink, fontsize=7)
        with whole(path) as file:
            figure.savefig(file, format=kind[1:], dpi=130)
    return missing
