"""The axes of a chart, as SVG: where a point lies, where an axis is labelled, what room labels need."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .texts import number

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 76, 36, 14, 34  # 528 across: equal parts come out alike here and in charts.js
LABEL_SIZE, NAME_SIZE = 20, 17  # of labels up and across on a narrow screen; elsewhere they need less room
LABEL_GAP = 3
LABEL_LINE = 1.15  # from one line of a label to the next, in its size


@dataclass(frozen=True)
class Axis:
    """One direction: its ends, whether it counts in powers of ten, and the steps of its labels, or the
    `places` of all of them, if they were chosen."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    places: tuple[float, ...] = ()

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
        if self.places:
            return list(self.places)
        low, high = self.low, self.high
        if self.log:
            powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
            step = max(1, math.ceil(len(powers) / 6))
            found = [10.0**p for p in powers][::step]
            return found if len(found) > 1 else [low, high]
        steps = 4 if self.step is None else round((high - low) / self.step)
        return [low + (high - low) * k / steps for k in range(steps + 1)]

    def labels(self) -> dict[float, str]:
        """Where it is labelled, and how."""
        ticks = self.ticks()
        return {x: spoken(x, None if self.log else ticks[1] - ticks[0]) for x in ticks}


def spoken(x: float, step: float | None = None) -> str:
    """A tick's number, with the digits that tell it from those a `step` away; alone, with two."""
    step = step or abs(x)
    if abs(x) <= 1e-9 * step:
        return "0"
    decimals = _decimals(step)
    if step >= 2e-3 and abs(x) < 1e5:
        return number(x, decimals, given=True)
    digits = max(0, decimals + math.floor(math.log10(abs(x)) + 1e-9))
    mantissa, exponent = map(float, f"{abs(x):.{digits}e}".split("e"))
    return f"{'−' if x < 0 else ''}{str(mantissa).removesuffix('.0')}e{exponent:.0f}"


def _decimals(step: float) -> int:
    """As many as tell a step within 2 %."""
    leading, exponent = map(float, f"{step:.2e}".split("e"))
    further = sum(abs(leading - round(leading, k)) > 0.02 * leading for k in (0, 1))
    return max(0, further - int(exponent))


def text_width(text: str, size: float) -> float:
    """About how wide a text is that is drawn in letters of this size; rather more than less."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return next((width for letters, width in _WIDTHS if letter in letters), 0.62)


_WIDTHS = ((" .,:;|'’", 0.32), ("fijlrtI()-", 0.4), ("mwMW%", 0.95))


def wrapped(text: str, width: float, size: float) -> list[str]:
    """A text in lines of this width, as far as its words allow; between Chinese letters a line may end, but
    none begins with what closes."""
    lines: list[str] = []
    for piece in _PIECE.findall(text):
        if lines and text_width(lines[-1] + piece.rstrip(), size) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.strip() for line in lines]


_WIDE = r"\u2e80-\u9fff\uff00-\uffef"
_PIECE = re.compile(rf"[（“《]?[{_WIDE}][，。；：）”》、！？]*\s*|[^\s{_WIDE}]+[，。；：）”》、！？]*\s*|\s+")


def apart(centres: Sequence[float], labels: Sequence[str]) -> bool:
    """Whether labels in the middle of these places, in rising order, leave room between each other."""
    half = [text_width(label, NAME_SIZE) / 2 for label in labels]
    return all(
        left + a + LABEL_GAP <= right - b
        for left, right, a, b in zip(centres, centres[1:], half, half[1:], strict=False)
    )


@dataclass(frozen=True)
class Axes:
    """Both directions of a chart of WIDTH x HEIGHT; `bottom` is what the labels below need."""

    across: Axis
    up: Axis
    bottom: float = BOTTOM

    def place(self, x: float, y: float) -> tuple[float, float] | None:
        """Where a point is drawn; None where it cannot be."""
        across, up = self.across.share(x), self.up.share(y)
        if across is None or up is None:
            return None
        low = HEIGHT - self.bottom
        return LEFT + across * (WIDTH - LEFT - RIGHT), low - up * (low - TOP)

    def grid(self, x_names: Mapping[float, Sequence[str]] | None = None) -> list[str]:
        """Lines and labels; the lines of `x_names` label these x instead of the ticks, and are markup
        already."""
        names = x_names or {x: [label] for x, label in self.across.labels().items()}
        parts, low = [], HEIGHT - self.bottom
        for x, lines in names.items():
            at = self.place(x, self.up.low)
            assert at is not None
            name = lines[0] + "".join(
                f'<tspan x="{at[0]:.1f}" dy="{LABEL_LINE}em">{line}</tspan>' for line in lines[1:]
            )
            parts.append(
                f'<line class="grid" x1="{at[0]:.1f}" x2="{at[0]:.1f}" y1="{TOP}" y2="{low:g}"/>'
                f'<text class="x" x="{at[0]:.1f}" y="{low + 22:g}">{name}</text>'
            )
        for y, label in self.up.labels().items():
            at = self.place(self.across.low, y)
            assert at is not None
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at[1]:.1f}" y2="{at[1]:.1f}"/>'
                f'<text class="y" x="{LEFT - 8}" y="{at[1] + 4:.1f}">{label}</text>'
            )
        return parts
