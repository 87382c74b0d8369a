"""Windows of tokens as batches. Which window comes when is a pure function of (seed, step, rank).

Shapes: b batch, n context. A window takes n inputs and, one place on, n targets: here, and nowhere else,
targets are shifted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .corpus import Tokens

IGNORE = -100
"""A target that does not count."""


@dataclass(frozen=True)
class Batch:
    """Inputs and targets (b, n), int64; targets may be IGNORE."""

    inputs: Tensor
    targets: Tensor

    @property
    def n_targets(self) -> int:
        return int((self.targets != IGNORE).sum())

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True)
class Windows:
    """Training windows: each epoch cuts the text at a new offset and takes the windows in a new order."""

    tokens: Tokens
    context: int
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.tokens) < self.context + 1:
            raise ValueError(
                f"{len(self.tokens)} tokens are too few: one window of context {self.context} needs "
                f"{self.context + 1}"
            )

    @property
    def per_epoch(self) -> int:
        """Windows in an epoch: one fewer than would fit, so that there is room for the offset."""
        return max(1, len(self.tokens) // self.context - 1)

    def batch(
        self, step: int, batch_size: int, *, micro: int = 0, micros: int = 1, rank: int = 0, ranks: int = 1
    ) -> Batch:
        """Micro-batch `micro` of `micros` of a step, for one rank of `ranks`."""
        first = ((step * micros + micro) * ranks + rank) * batch_size
        return windows_at(self.tokens, self.context, [self._start(first + i) for i in range(batch_size)])

    def _start(self, sample: int) -> int:
        epoch, place = divmod(sample, self.per_epoch)
        slack = len(self.tokens) - 1 - self.per_epoch * self.context
        offset, order = _epoch(self.seed, epoch, self.per_epoch, slack)
        return offset + int(order[place]) * self.context


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, windows: int, slack: int) -> tuple[int, NDArray[np.int64]]:
    generator = np.random.default_rng([seed, epoch])
    return int(generator.integers(slack + 1)), generator.permutation(windows)


def windows_at(tokens: Tokens, context: int, starts: list[int]) -> Batch:
    """The windows that begin at these places."""
    rows = torch.from_numpy(np.stack([tokens[s : s + context + 1] for s in starts]).astype(np.int64))
    return Batch(rows[:, :-1], rows[:, 1:])


def in_order(tokens: Tokens, context: int, batch_size: int) -> Iterator[Batch]:
    """Non-overlapping windows in which every token but the first is a target once; the last may be short."""
    n_targets = len(tokens) - 1
    starts = list(range(0, n_targets - context + 1, context))
    for i in range(0, len(starts), batch_size):
        yield windows_at(tokens, context, starts[i : i + batch_size])
    rest = n_targets - len(starts) * context
    if rest > 0:
        yield windows_at(tokens, rest, [len(starts) * context])
