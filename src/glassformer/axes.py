"""The axes of a chart, as SVG: where a point lies, where an axis is labelled."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .texts import number

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 34


@dataclass(frozen=True)
class Axis:
    """One direction: its ends, whether it counts in powers of ten, and the steps of its labels if they were
    chosen."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @classmethod
    def around(cls, numbers: Iterable[float], log: bool, *, zero: bool = True) -> "Axis":
        """An axis that all of these numbers lie on; from 0 on if `zero`, unless it counts in powers."""
        usable = [x for x in numbers if math.isfinite(x) and (x > 0 or not log)]
        if not usable:
            return cls(1.0, 10.0, log) if log else cls(0.0, 1.0)
        low, high = min(usable), max(usable)
        if zero and not log:
            low = min(low, 0.0)
        if low == high:
            high = low * 10 if log else low + 1
        return cls(low, high, log)

    def rounded(self) -> "Axis":
        """The same between round numbers, with labels at round steps; in powers of ten it stays as it is."""
        if self.log:
            return self
        rough = (self.high - self.low) / 4
        power = 10.0 ** math.floor(math.log10(rough))
        step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda step: abs(math.log(step / rough)))
        low, high = (math.floor(self.low / step + 1e-9), math.ceil(self.high / step - 1e-9))
        return Axis(low * step, high * step, step=step)

    def share(self, x: float) -> float | None:
        """How far along x lies: 0 at the low end, 1 at the high one; None where it cannot be drawn."""
        if not math.isfinite(x) or (self.log and x <= 0):
            return None
        low, high = self.low, self.high
        if self.log:
            x, low, high = math.log10(x), math.log10(low), math.log10(high)
        return (x - low) / (high - low)

    def ticks(self) -> list[float]:
        """Where it is labelled: powers of ten, or four equal steps unless they were chosen."""
        low, high = self.low, self.high
        if self.log:
            powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
            step = max(1, math.ceil(len(powers) / 6))
            found = [10.0**p for p in powers][::step]
            return found if len(found) > 1 else [low, high]
        steps = 4 if self.step is None else round((high - low) / self.step)
        return [low + (high - low) * k / steps for k in range(steps + 1)]


def spoken(x: float) -> str:
    """A tick's number: short."""
    if x != 0 and not 1e-2 <= abs(x) < 1e5:
        mantissa, exponent = f"{x:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return number(x, 0 if abs(x) >= 10 or x == round(x) else 2, given=True)


@dataclass(frozen=True)
class Axes:
    """Both directions of a chart of WIDTH x HEIGHT."""

    across: Axis
    up: Axis

    def place(self, x: float, y: float) -> tuple[float, float] | None:
        """Where a point is drawn; None where it cannot be."""
        across, up = self.across.share(x), self.up.share(y)
        if across is None or up is None:
            return None
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def grid(self, x_names: dict[float, str] | None = None) -> list[str]:
        """Lines and labels; `x_names` label these x instead of the ticks, and are markup already."""
        names = x_names or {x: spoken(x) for x in self.across.ticks()}
        parts = []
        for x, name in names.items():
            at = self.place(x, self.up.low)
            assert at is not None
            parts.append(
                f'<line class="grid" x1="{at[0]:.1f}" x2="{at[0]:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
                f'<text class="x" x="{at[0]:.1f}" y="{HEIGHT - 12}">{name}</text>'
            )
        for y in self.up.ticks():
            at = self.place(self.across.low, y)
            assert at is not None
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at[1]:.1f}" y2="{at[1]:.1f}"/>'
                f'<text class="y" x="{LEFT - 8}" y="{at[1] + 4:.1f}">{spoken(y)}</text>'
            )
        return parts
