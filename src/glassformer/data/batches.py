"""Windows of tokens as batches. Which window comes when is a pure function of (seed, step, rank).

`Windows` come in a random order, each for itself; in `Streams` each row goes on from where it was, for models
that carry a state.

Shapes: b batch, n context. A window takes n inputs and, one place on, n targets: here, and nowhere else,
targets are shifted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .corpus import Tokens

IGNORE = -100
"""A target that does not count."""
STRETCH = 1024
"""Tokens that a row of `in_streams` reads at least, where the text is long enough for several."""


@dataclass(frozen=True)
class Batch:
    """Inputs and targets (b, n), int64; targets may be IGNORE. If not `fresh`, each row goes on from the same
    row of the batch before."""

    inputs: Tensor
    targets: Tensor
    fresh: bool = True

    @property
    def n_targets(self) -> int:
        return int((self.targets != IGNORE).sum())

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.inputs.to(device), self.targets.to(device), self.fresh)


@dataclass(frozen=True)
class Windows:
    """Training windows: each epoch cuts the text at a new offset and takes the windows in a new order."""

    tokens: Tokens
    context: int
    seed: int = 0

    def __post_init__(self) -> None:
        _require_a_window(self.tokens, self.context)

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


@dataclass(frozen=True)
class Streams:
    """Training windows that go on from each other. An epoch lays as many stretches of text side by side as a
    step has rows, at a new offset, and each row reads its own from end to end."""

    tokens: Tokens
    context: int
    seed: int = 0

    def __post_init__(self) -> None:
        _require_a_window(self.tokens, self.context)

    def per_epoch(self, rows: int) -> int:
        """Steps in an epoch. Where the text is too short for the rows, they overlap in epochs of one step."""
        return max(1, (len(self.tokens) - 1) // (rows * self.context))

    def batch(
        self, step: int, batch_size: int, *, micro: int = 0, micros: int = 1, rank: int = 0, ranks: int = 1
    ) -> Batch:
        """Micro-batch `micro` of `micros` of a step, for one rank of `ranks`."""
        rows = micros * ranks * batch_size
        per_epoch = self.per_epoch(rows)
        epoch, place = divmod(step, per_epoch)
        first = (micro * ranks + rank) * batch_size
        begins = _stretches(self.seed, epoch, rows, per_epoch * self.context, len(self.tokens) - 1)
        starts = [int(begin) + place * self.context for begin in begins[first : first + batch_size]]
        return replace(windows_at(self.tokens, self.context, starts), fresh=place == 0)


@lru_cache(maxsize=4)
def _stretches(seed: int, epoch: int, rows: int, length: int, n_targets: int) -> NDArray[np.int64]:
    """Where the stretches of an epoch begin: side by side, or anywhere if there is no room for that."""
    generator = np.random.default_rng([seed, epoch])
    if rows * length > n_targets:
        return generator.integers(n_targets - length + 1, size=rows)
    return int(generator.integers(n_targets - rows * length + 1)) + length * np.arange(rows)


def _require_a_window(tokens: Tokens, context: int) -> None:
    if len(tokens) < context + 1:
        raise ValueError(
            f"{len(tokens)} tokens are too few: one window of context {context} needs {context + 1}"
        )


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


def in_streams(tokens: Tokens, context: int, rows: int, most: int | None = None) -> Iterator[Batch]:
    """The text as stretches of one length, at most `rows`, read side by side in windows that go on from each
    other; every token but the first is a target once. Of more than `most` targets, the stretches' beginnings.
    """
    n_targets = len(tokens) - 1
    rows = max(1, min(rows, n_targets // STRETCH))
    length = -(-n_targets // rows)
    read = length if most is None else min(length, -(-most // rows))
    for at in range(0, read, context):
        width = min(context, read - at)
        inputs, targets = torch.zeros(rows, width).long(), torch.full((rows, width), IGNORE)
        for row in range(rows):
            first = row * length + at
            seen = torch.from_numpy(tokens[first : first + width + 1].astype(np.int64))
            inputs[row, : len(seen) - 1], targets[row, : len(seen) - 1] = seen[:-1], seen[1:]
        yield Batch(inputs, targets, fresh=at == 0)
