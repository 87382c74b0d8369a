"""A short training of a small model, for claims that need no folder of their own."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..training.optimiser import make_optimisers, set_rates
from ..training.settings import TrainConfig


def train(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    config: TrainConfig,
    enough: Callable[[list[float]], bool] = lambda losses: False,
) -> list[float]:
    """The loss of every step, `loss(step)` being that of a batch, on one thread, with the package's
    optimisers, rates and clipping. It ends where a loss is no longer finite, which is then the last one
    told, and after the step whose losses are `enough`."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        optimisers = make_optimisers(model.train(), config)
        losses = []
        for step in range(config.steps):
            now = loss(step)
            losses.append(float(now.detach()))
            if not math.isfinite(losses[-1]):
                break
            model.zero_grad()
            now.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), config.clip or math.inf)
            set_rates(optimisers, config, step)
            for optimiser in optimisers:
                optimiser.step()
            if enough(losses):
                break
        return losses
    finally:
        torch.set_num_threads(before)
