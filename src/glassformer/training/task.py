"""What a model is trained for: a task gives batches and, for a batch, (sum of losses, number of targets).

Sums, never means: the loop divides by the number of targets in the whole step, so that a token weighs the
same in whichever micro-batch or rank it stands.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import IGNORE, Batch, Streams, Windows, in_order, in_streams, windows_at
from ..data.corpus import Tokens
from ..nn.state import HiddenState

Forward = Callable[..., tuple[Tensor, Any]]
"""A model, compiled or not: tokens (b, n) and perhaps a state -> logits (b, n, V) and a state."""


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


@runtime_checkable
class Carrying(Task, Protocol):
    """A task whose batches go on from each other: the state after one is where the next begins."""

    def loss_and_state(
        self, model: Forward, batch: Batch, state: HiddenState | None
    ) -> tuple[Tensor, HiddenState]:
        """As `loss_sum`, from the state after the batch before, if there was one; and the state after this
        one, through which no gradient flows back."""
        ...


def loss_and_state(
    task: Task, model: Forward, batch: Batch, state: HiddenState | None
) -> tuple[Tensor, HiddenState | None]:
    """The sum of the losses and what to carry to the next batch: None, unless the task carries a state."""
    if isinstance(task, Carrying):
        return task.loss_and_state(model, batch, state)
    return task.loss_sum(model, batch), None


def next_token_loss(model: Forward, batch: Batch) -> Tensor:
    """Cross-entropy of every target (nats), summed, in float32."""
    return carried_loss(model, batch, None)[0]


def carried_loss(
    model: Forward, batch: Batch, state: HiddenState | None
) -> tuple[Tensor, HiddenState | None]:
    """`next_token_loss` of a batch that goes on from a state, and the state after it."""
    logits_bnV, after = model(batch.inputs) if state is None else model(batch.inputs, state)
    loss = F.cross_entropy(
        logits_bnV.flatten(0, 1).float(), batch.targets.flatten(), ignore_index=IGNORE, reduction="sum"
    )
    return loss, after


@dataclass(frozen=True)
class NextToken:
    """Language modelling: predict each token from those before it in its window."""

    windows: Windows | Streams
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


@dataclass(frozen=True)
class NextInStream(NextToken):
    """Language modelling by truncated back-propagation through time: each window begins with the state that
    the one before it left, and the gradient ends where the window begins (Williams & Peng 1990). `begin`
    makes a state for so many rows, to begin a stream with."""

    begin: Callable[[int], HiddenState]

    def validation_batches(self) -> Iterable[Batch]:
        """The held-out text in streams, or as much as `eval_tokens` allow, from places spread over it."""
        if len(self.held_out) > self.windows.context:
            yield from in_streams(self.held_out, self.windows.context, self.batch_size, self.eval_tokens)

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return self.loss_and_state(model, batch, None)[0]

    def loss_and_state(
        self, model: Forward, batch: Batch, state: HiddenState | None
    ) -> tuple[Tensor, HiddenState]:
        if state is None or batch.fresh:
            state = self.begin(len(batch.inputs))
        loss, after = carried_loss(model, batch, state)
        assert after is not None
        return loss, after.detach()


@torch.no_grad()
def mean_loss(task: Task, model: Forward, batches: Iterable[Batch], device: torch.device) -> float | None:
    """The loss per target over all batches (nats); None where there is no target at all."""
    total, count, state = 0.0, 0, None
    for batch in batches:
        loss, state = loss_and_state(task, model, batch.to(device), state)
        total += float(loss)
        count += batch.n_targets
    return total / count if count else None
