"""Numbers as the page writes them; `numbers.js` does the same in the browser."""

import math
from decimal import ROUND_HALF_UP, Decimal

from ..lessons.lesson import Kind

LARGE = 1e12  # from here on, powers of ten
SHADES = 10


def number(value: float, decimals: int, *, given: bool = False) -> str:
    """`value` with so many decimals; a given number without zeros at its end. Minus is U+2212."""
    if math.isnan(value):
        return "NaN"
    sign = "−" if value < 0 else ""
    if math.isinf(value):
        return f"{sign}∞"
    if abs(value) >= LARGE:
        mantissa, exponent = f"{abs(value):.2e}".split("e")
        return f"{sign}{mantissa}e{int(exponent)}"
    # Half goes away from zero, as JavaScript's toFixed has it, so that both sides write the same digits.
    digits = Decimal(abs(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{digits:,f}"
    if given and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text if not any(digit in text for digit in "123456789") else sign + text


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
