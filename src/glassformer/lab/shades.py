"""How cells are coloured; `numbers.js` does the same in the browser."""

import math

from ..lessons.lesson import Kind

SHADES = 10


def shade(value: float, kind: Kind, largest: float) -> str:
    """The class that colours a cell. `largest`: the largest finite size in its matrix."""
    if math.isinf(value) and value < 0:
        return "masked"
    if kind == "weights":
        return "masked" if value == 0 else f"w{min(SHADES, math.ceil(value * SHADES))}"
    if kind == "mask":
        return "seen" if value else "hidden"
    if kind == "scores" and largest > 0 and math.isfinite(value):
        level = math.floor(abs(value) / largest * SHADES / 2 + 0.5)
        return f"{'n' if value < 0 else 'p'}{level}" if level else ""
    return ""
