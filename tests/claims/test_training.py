"""The short training of claims: it trains, it ends where there is nothing left to train, and it keeps to
itself."""

import math

import pytest
import torch
from torch import nn

from glassformer.claims.training import train
from glassformer.training.settings import TrainConfig


def fitted(scale, steps=40, **options):
    """Losses of a linear layer that is to become the identity; `scale` multiplies them."""
    torch.manual_seed(0)
    model, x = nn.Linear(3, 3), torch.randn(16, 3)
    config = TrainConfig(steps=steps, lr=0.1, warmup=4)
    return train(model, lambda step: scale(step) * (model(x) - x).square().mean(), config, **options)


def test_a_loss_falls_and_is_told_for_every_step():
    losses = fitted(lambda step: 1.0)
    assert len(losses) == 40
    assert losses[-1] < losses[0] / 20


def test_the_same_seed_gives_the_same_losses():
    assert fitted(lambda step: 1.0) == fitted(lambda step: 1.0)


@pytest.mark.parametrize("end", [math.nan, math.inf])
def test_it_ends_with_the_first_loss_that_is_not_finite(end):
    losses = fitted(lambda step: end if step == 3 else 1.0)
    assert len(losses) == 4
    assert not math.isfinite(losses[-1])


def test_it_ends_with_the_losses_that_are_enough():
    whole = fitted(lambda step: 1.0)
    assert fitted(lambda step: 1.0, enough=lambda losses: losses[-1] < whole[10] * 1.0001) == whole[:11]


def test_threads_are_given_back():
    before = torch.get_num_threads()
    with pytest.raises(KeyError):
        train(nn.Linear(1, 1), lambda step: {}[torch.get_num_threads()], TrainConfig(steps=1))
    assert torch.get_num_threads() == before
