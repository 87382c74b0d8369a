"""What is written into a sheet beside its formulas: numbers, sizes, texts. Checked, and made plain JSON.

JSON has no infinities, so they are the strings "inf" and "-inf"; NaN is no number of a sheet. The errors are
word for word those of sheet.js, which must print the same numbers the same way: hence `told`.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError

Array = NDArray[np.float64]
Numbers = float | Sequence[Sequence[float | str]] | NDArray[Any] | np.generic
"""What can be written for a matrix: rows of numbers, or one number; the strings "inf" and "-inf" too."""

SIDE = 4096  # rows or columns of a matrix at most
CELLS = 1_000_000  # cells of a matrix at most
BOUNDS = {"size": (1, SIDE), "seed": (0, (1 << 32) - 1)}
"""Kinds of whole numbers that may also be taken from an earlier 1x1 matrix, and between what they lie."""

_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,64}")
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def is_name(value: Any) -> bool:
    """Whether a value can name a matrix: 1 to 64 characters, no control character, no half of one."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_whole(value: Any) -> bool:
    x = number(value)
    return x is not None and x.is_integer()


def _is_finite(value: Any) -> bool:
    x = number(value)
    return x is not None and math.isfinite(x)


def _is_size(value: Any) -> bool:
    return is_name(value) or _is_finite(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_span(value: Any) -> bool:
    return value is None or (
        isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_whole, value))
    )


_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "size": (_is_size, "a whole number or the name of an earlier 1x1 matrix"),
    "seed": (_is_size, "a whole number or the name of an earlier 1x1 matrix"),
    "number": (_is_finite, "a finite number"),
    "fill": (lambda value: number(value) is not None, "a number, inf or -inf"),
    "texts": (_are_texts, "a list of texts"),
    "over": (lambda value: value in ("columns", "rows", "all"), "columns, rows or all"),
    "axis": (lambda value: value in ("columns", "rows"), "columns or rows"),
    "span": (_is_span, "null or two whole numbers, start and stop"),
}
"""For each kind of parameter, "values" apart: whether a value is one, and what is expected."""


def checked(kind: str, value: Any) -> Any:
    """A parameter as plain JSON. Raises UserError, which says what is expected."""
    if kind == "values":
        return [[_wire(x) for x in row] for row in grid(value).tolist()]
    is_right, expected = _KINDS[kind]
    if not is_right(value):
        raise UserError(f"must be {expected}")
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    x = number(value)
    return value if x is None or (type(value) is int and math.isfinite(x)) else _wire(x)


def number(value: Any) -> float | None:
    """A number or the text of an infinity as a float; None for what is neither, NaN included."""
    if isinstance(value, str):
        return _INFINITIES.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        x = float(value)
    except OverflowError:  # a whole number beyond every float: infinite, as a browser reads it
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(x) else x


def _wire(x: float) -> float | str:
    return x if math.isfinite(x) else "inf" if x > 0 else "-inf"


def _well_formed(text: str) -> str:
    """Each half of a surrogate pair that has lost the other becomes U+FFFD, as in a browser's TextEncoder."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def grid(values: Any) -> Array:
    """The matrix that nested rows of numbers are, or one number as 1x1. Arrays of any library will do.

    Raises UserError for rows of different lengths, what is no number (NaN is none), a size beyond bounds.
    """
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple):
        values = [[values]]
    if not values:
        raise UserError("a matrix has at least one row")
    for i, row in enumerate(values):
        if not isinstance(row, list | tuple):
            raise UserError(f"row {i} is no list of numbers")
        if len(row) != len(values[0]):
            raise UserError(f"row {i} has {len(row)} numbers, but row 0 has {len(values[0])}")
    if not values[0]:
        raise UserError("a matrix has at least one column")
    require_room(len(values), len(values[0]))
    numbers = [[number(x) for x in row] for row in values]
    for i, row in enumerate(numbers):
        if None in row:
            raise UserError(f"cell [{i}, {row.index(None)}] is no number")
    return np.array(numbers, dtype=np.float64)


def require_room(rows: int, cols: int) -> None:
    """Raise UserError for a matrix that would be too large."""
    if rows > SIDE or cols > SIDE or rows * cols > CELLS:
        raise UserError(f"({rows}, {cols}) is too large; at most {SIDE} a side and {CELLS} cells")


def whole(what: str, x: float, low: int, high: int) -> int:
    """A whole number within bounds. Raises UserError, which calls it `what`."""
    if not (math.isfinite(x) and x.is_integer() and low <= x <= high):
        raise UserError(f"{what} is {told(x)} and must be a whole number from {low} to {high}")
    return int(x)


def resolved(kinds: Mapping[str, str], parameters: Mapping[str, Any], values: Mapping[str, Array]) -> Any:
    """The parameters with every size a whole number, those given by name taken from earlier matrices."""
    found = dict(parameters)
    for key, kind in kinds.items():
        if kind in BOUNDS:
            what, x = key, parameters[key]
            if isinstance(x, str):
                what, (rows, cols) = f"{key}, taken from {x},", values[x].shape
                if (rows, cols) != (1, 1):
                    raise UserError(f"{what} must be one number, not {(rows, cols)}")
                x = values[x][0, 0]
            found[key] = whole(what, float(x), *BOUNDS[kind])
    return found


def told(x: float) -> str:
    """A number as both languages write it; where they differ, it is so far off that words will do."""
    if not (x == 0 or 1e-4 <= abs(x) < 1e15):
        return "out of reach"
    return str(int(x)) if x.is_integer() else repr(float(x))
