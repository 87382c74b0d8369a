"""Texts with labels, `text<TAB>label` a line: read, parted by label, and made into batches.

Shapes: b rows, n tokens.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import UserError
from .parallel import lines, sources_of

MOST = 1000  # labels; more are no labels


class Labelled(NamedTuple):
    text: str
    label: str


def read(path: Path) -> list[Labelled]:
    """The labelled texts of a file; empty lines are passed over. Raises UserError, naming file and line."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    found: list[Labelled] = []
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2:
            has = "no TAB" if len(parts) == 1 else f"{len(parts) - 1} TABs"
            raise UserError(f"{path}: line {number} has {has}; a line is text<TAB>label")
        if not all(parts):
            raise UserError(f"{path}: line {number} has an empty {'label' if parts[0] else 'text'}")
        found.append(Labelled(*parts))
    if not found:
        raise UserError(f"{path}: no labelled text in it")
    return found


def labels_of(examples: Sequence[Labelled]) -> tuple[str, ...]:
    """The labels, in order. Raises UserError for one alone, and for as many as no labels are."""
    labels = tuple(sorted({example.label for example in examples}))
    if len(labels) == 1:
        raise UserError(f"all texts have the label {labels[0]!r}; there is nothing to tell apart")
    if len(labels) > MOST:
        raise UserError(f"{len(labels):,} different labels; at most {MOST:,} can be told apart")
    return labels


def parted(examples: Sequence[Labelled], share: float) -> tuple[list[Labelled], list[Labelled]]:
    """Texts to learn from, and `share` of each label's held out, chosen by a digest of the text: the same
    text is never on both sides. A label with a single text keeps it to learn from."""
    held_out: dict[str, bool] = {}
    counts = Counter(example.label for example in examples)
    taken: Counter[str] = Counter()
    wanted = {label: min(n - 1, max(1, round(n * share))) if share else 0 for label, n in counts.items()}
    for text, label in sorted(examples, key=lambda example: zlib.crc32(example.text.encode())):
        if held_out.setdefault(text, taken[label] < wanted[label]):
            taken[label] += 1
    sides: tuple[list[Labelled], list[Labelled]] = ([], [])
    for example in examples:
        sides[held_out[example.text]].append(example)
    return sides


@dataclass(frozen=True)
class LabelBatch:
    """Texts (b, n), which of their tokens are real, and the number of the label of each (b,)."""

    inputs: Tensor
    valid: Tensor
    labels: Tensor

    @property
    def n_targets(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "LabelBatch":
        return LabelBatch(*(part.to(device) for part in (self.inputs, self.valid, self.labels)))


@dataclass(frozen=True)
class Deal:
    """Rows in batches, each row once in an epoch, in an order drawn from (seed, epoch)."""

    rows: Sequence[Sequence[int]]
    labels: Sequence[int]
    batch_size: int
    filler: int
    seed: int = 0

    def batch(self, step: int, *, micro: int = 0, micros: int = 1) -> LabelBatch:
        """Micro-batch `micro` of `micros` of a step."""
        first = (step * micros + micro) * self.batch_size
        return self.at([self._row(first + i) for i in range(self.batch_size)])

    def at(self, places: Sequence[int]) -> LabelBatch:
        """The rows at these places."""
        inputs_bn, valid_bn = sources_of([self.rows[i] for i in places], self.filler)
        return LabelBatch(inputs_bn, valid_bn, torch.tensor([self.labels[i] for i in places]))

    def _row(self, number: int) -> int:
        epoch, place = divmod(number, len(self.rows))
        return int(_order(self.seed, epoch, len(self.rows))[place])


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(n)
