"""What the lab trains on its page: the bounds, the sizes, and the task that is handed to `job`."""

from dataclasses import dataclass
from typing import Literal

MOST_BYTES = 2_000_000  # of a text
FEWEST_CHARACTERS = 1_000  # enough for a window to learn from and one held out
PROBE = 48  # tokens of the sentence that is watched
MOST_STEPS = 2_000
MOST_SECONDS = 600.0
GRACE = 15.0  # seconds to save in after a stop, before the process is ended
MOMENTS = 20
MOMENTS_FOLDER = "moments"  # in the run's folder

Size = Literal["mini", "tiny"]
SIZES: dict[Size, tuple[str, ...]] = {"mini": ("n_layers=2", "n_heads=2", "d_model=64"), "tiny": ()}
"""What differs from the preset `tiny`, whose context both have."""


@dataclass(frozen=True)
class Task:
    """One training: `text` is the path of its text, which is deleted once it is read, `out` that of the new
    run folder."""

    text: str
    out: str
    probe: str
    size: Size
    steps: int


def moments(steps: int) -> list[int]:
    """The steps at which the probe is read: 0, 1, 2, 4, … in about equal ratios, up to and with the last."""
    return sorted({0, *(round(steps ** (k / (MOMENTS - 2))) for k in range(MOMENTS - 1))})
