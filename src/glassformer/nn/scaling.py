"""How a checkpoint stretched its rotary frequencies to read texts longer than it was first trained on.

A frequency ω turns a pair of coordinates by pos · ω, so over a context of C it makes C ω / 2π turns. Many
turns tell near tokens apart and are left alone; those of less than one were never seen whole, and are slowed.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..config import require_literals


@dataclass(frozen=True)
class Linear:
    """All frequencies divided by `factor` (Chen et al. 2023, "Position Interpolation")."""

    factor: float
    kind: Literal["linear"] = "linear"

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class Dynamic:
    """Frequencies that change with the length of a text beyond the context. Within it they are as they were,
    and no model here looks beyond it."""

    factor: float
    kind: Literal["dynamic"] = "dynamic"

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class Llama3:
    """Fewer than `low` turns over `original_context`: divided by `factor`; more than `high`: as they were; a
    blend between (Llama team 2024, "The Llama 3 Herd of Models")."""

    factor: float
    low: float
    high: float
    original_context: int
    kind: Literal["llama3"] = "llama3"

    def __post_init__(self) -> None:
        _check(self)
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} must be below high = {self.high}")


@dataclass(frozen=True)
class Yarn:
    """As Llama3, from `slow` to `fast` turns, but blended evenly from pair to pair, beginning and ending at
    `whole` pairs; and queries and keys grow by `attention_factor` (Peng et al. 2023, "YaRN")."""

    factor: float
    original_context: int
    attention_factor: float
    fast: float = 32.0
    slow: float = 1.0
    whole: bool = True
    kind: Literal["yarn"] = "yarn"

    def __post_init__(self) -> None:
        _check(self)
        if not self.slow < self.fast:
            raise ValueError(f"slow = {self.slow} must be below fast = {self.fast}")


Scaling = Linear | Dynamic | Llama3 | Yarn


def stretched(frequency: Tensor, rule: Scaling | None) -> Tensor:
    """The frequencies (d/2,), falling from 1, as a rule leaves them."""
    match rule:
        case None | Dynamic():
            return frequency
        case Linear():
            return frequency / rule.factor
        case Llama3():
            turns = rule.original_context * frequency / (2 * math.pi)
            kept = ((turns - rule.low) / (rule.high - rule.low)).clamp(0, 1)
        case Yarn():
            kept = _kept_by_yarn(frequency, rule)
    return (1 - kept) * frequency / rule.factor + kept * frequency


def _kept_by_yarn(frequency: Tensor, rule: Yarn) -> Tensor:
    n = len(frequency)
    fall = math.log(frequency[0] / frequency[-1]) / max(1, n - 1)  # of the logarithm, from pair to pair

    def pair(turns: float) -> float:
        """Which pair makes so many turns; not always a whole number."""
        return math.log(rule.original_context / (turns * 2 * math.pi)) / (fall or 1)

    first, last = pair(rule.fast), pair(rule.slow)
    if rule.whole:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * n - 1)
    place = torch.arange(n, dtype=frequency.dtype, device=frequency.device)
    return 1 - ((place - first) / (last - first or 0.001)).clamp(0, 1)


def _check(rule: "Scaling") -> None:
    require_literals(rule)
    for name, value in vars(rule).items():
        if isinstance(value, int | float) and not isinstance(value, bool) and not value > 0:
            raise ValueError(f"{name} must be above 0, not {value}")
