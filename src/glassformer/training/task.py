"""What a model is trained for: a task gives batches and, for a batch, (sum of losses, number of targets).

Sums, never means: the loop divides by the number of targets in the whole step, so that a token weighs the
same in whichever micro-batch or rank it stands.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import IGNORE, Batch, Windows, in_order, windows_at
from ..data.corpus import Tokens

Forward = Callable[[Tensor], tuple[Tensor, object]]
"""A model, compiled or not: tokens (b, n) -> logits (b, n, V) and a state."""


class Task(Protocol):
    def training_batches(self, step: int) -> list[Batch]:
        """The micro-batches of a step: a pure function of the step."""
        ...

    def validation_batches(self) -> Iterable[Batch]:
        """Held-out batches, the same each time; none if there is too little held out."""
        ...

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        """The sum of the losses over the batch's targets; 0 where there are none."""
        ...


def next_token_loss(model: Forward, batch: Batch) -> Tensor:
    """Cross-entropy of every target (nats), summed, in float32."""
    logits_bnV, _ = model(batch.inputs)
    return F.cross_entropy(
        logits_bnV.flatten(0, 1).float(), batch.targets.flatten(), ignore_index=IGNORE, reduction="sum"
    )


@dataclass(frozen=True)
class NextToken:
    """Language modelling: predict each token from those before it in its window."""

    windows: Windows
    held_out: Tokens
    batch_size: int
    accumulate: int
    eval_tokens: int

    def training_batches(self, step: int) -> list[Batch]:
        micros = self.accumulate
        return [self.windows.batch(step, self.batch_size, micro=i, micros=micros) for i in range(micros)]

    def validation_batches(self) -> Iterable[Batch]:
        """All non-overlapping windows, or as many as `eval_tokens` allow, spread over the held-out text."""
        context = self.windows.context
        n_windows = (len(self.held_out) - 1) // context
        if n_windows < 1:
            return
        wanted = max(1, self.eval_tokens // context)
        if n_windows <= wanted:
            yield from in_order(self.held_out, context, self.batch_size)
            return
        starts = [int(i) * context for i in np.linspace(0, n_windows - 1, wanted).round()]
        for i in range(0, wanted, self.batch_size):
            yield windows_at(self.held_out, context, starts[i : i + self.batch_size])

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return next_token_loss(model, batch)


@torch.no_grad()
def mean_loss(task: Task, model: Forward, batches: Iterable[Batch], device: torch.device) -> float | None:
    """The loss per target over all batches (nats); None where there is no target at all."""
    total, count = 0.0, 0
    for batch in batches:
        total += float(task.loss_sum(model, batch.to(device)))
        count += batch.n_targets
    return total / count if count else None
