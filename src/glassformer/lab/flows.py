"""Drawings of what a row goes through, as SVG: boxes from bottom to top, and residuals that go round them."""

from collections.abc import Callable

from markupsafe import Markup, escape

from ..lessons.lesson import Flow, Label

WIDTH, BOX, STEP = 260, 150, 62
HEIGHT_OF_BOX = 38
MIDDLE = 110


def height(flow: Flow) -> int:
    """Of the drawing, in its own units."""
    return STEP * (len(flow.nodes) - 1) + 50


def drawing(flow: Flow, plain: Callable[[Label], str]) -> Markup:
    """The inside of the flow's `<svg>`. The first node is what comes in, the last what goes out."""
    bottom = height(flow) - 25
    places = [bottom - STEP * k for k in range(len(flow.nodes))]
    parts = []
    for k, (node, y) in enumerate(zip(flow.nodes, places, strict=True)):
        label = plain(node)
        if k:
            below = places[k - 1] - (12 if not _boxed(flow, k - 1) else HEIGHT_OF_BOX / 2)
            above = y + (12 if not _boxed(flow, k) else HEIGHT_OF_BOX / 2)
            parts.append(f'<path class="arrow" d="M{MIDDLE} {below}V{above + 2}"/>')
            parts.append(f'<path class="tip" d="M{MIDDLE} {above}l-5 8h10z"/>')
        if _boxed(flow, k):
            x, top = MIDDLE - BOX / 2, y - HEIGHT_OF_BOX / 2
            parts.append(f'<rect x="{x}" y="{top}" width="{BOX}" height="{HEIGHT_OF_BOX}" rx="8"/>')
        if label == "+":
            # Leaves the stream below the sub-layer's first box, goes round it, and comes back in here.
            start, right = places[k - flow.skips] - STEP / 2, MIDDLE + BOX / 2 + 28
            if k - flow.skips == 0:
                start = places[0] - 22
            parts.append(f'<path class="around" d="M{MIDDLE} {start}H{right}V{y}H{MIDDLE + 20}"/>')
            parts.append(f'<path class="tip" d="M{MIDDLE + 14} {y}l8 -5v10z"/>')
            parts.append(f'<circle cx="{MIDDLE}" cy="{y}" r="12"/>')
        parts.append(f'<text x="{MIDDLE}" y="{y + 5}">{escape(label)}</text>')
    return Markup("".join(parts))


def _boxed(flow: Flow, k: int) -> bool:
    return 0 < k < len(flow.nodes) - 1 and flow.nodes[k] != "+"
