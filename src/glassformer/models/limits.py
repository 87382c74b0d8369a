"""Which numbers a model's shape may hold. A size that no model comes near is a slip of the hand or a damaged
file, and is refused before anything of that size is made."""

import dataclasses
import reprlib
from typing import Any

LARGEST = 1 << 24  # of a vocabulary, a context, a width
DEEPEST = 1 << 10  # blocks
LEAST, MOST = 1e-6, 1e12  # of what rotary frequencies are computed from, so that they stay finite


def require_sizes(shape: Any) -> None:
    """Raise ValueError for a whole number, among the fields of a shape, that is no size."""
    for field in dataclasses.fields(shape):
        value = getattr(shape, field.name)
        if isinstance(value, int) and not isinstance(value, bool):
            require_size(field.name, value, DEEPEST if field.name.endswith("layers") else LARGEST)


def require_size(name: str, value: int, limit: int = LARGEST) -> None:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    if value > limit:
        raise ValueError(f"{name} must be at most {limit}, not {reprlib.repr(value)}")


def require_rotation(name: str, value: object) -> None:
    """Raise ValueError for a number from which no rotary frequency can be computed."""
    if isinstance(value, int | float) and not isinstance(value, bool) and not LEAST <= value <= MOST:
        raise ValueError(f"{name} must lie between {LEAST:g} and {MOST:g}, not {reprlib.repr(value)}")
