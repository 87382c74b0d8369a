"""Texts in the languages of the lab, and numbers as its pages write them."""

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple, get_args

Language = Literal["zh", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

LARGE = 1e12  # from here on, powers of ten
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Text(NamedTuple):
    """One text in every language."""

    zh: str
    en: str


def number(value: float, decimals: int, *, given: bool = False) -> str:
    """`value` with so many decimals; a given number without zeros at its end. Minus is U+2212. The lab's
    `numbers.js` does the same in the browser."""
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


def power_of_ten(exponent: float) -> str:
    """10 to a power, which is rounded to a whole number: 10⁻¹⁴; from 0.1 to 100 the number itself."""
    if -1 <= exponent <= 2:
        return number(10**exponent, 1)
    return "10" + str(round(exponent)).translate(RAISED)


def magnitude(value: float) -> str:
    """The power of ten nearest to a number that is not below 0; or 0."""
    return power_of_ten(math.log10(value)) if value else "0"
