"""Who is decayed, at what rate, and that the state comes back."""

import dataclasses

import pytest
import torch

from glassformer.models import GPT, GPTConfig
from glassformer.training.optimiser import learning_rate, load_state_tensors, make_optimiser, state_tensors
from glassformer.training.settings import TrainConfig

CONFIG = GPTConfig(11, context=8, n_layers=1, n_heads=2, d_model=8, norm="layernorm", bias=True)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["learned", "rotary", "relative"])
def test_every_parameter_is_claimed_once_and_only_matrices_decay(tied: bool, positions: str) -> None:
    model = GPT(dataclasses.replace(CONFIG, tie_embeddings=tied, positions=positions))
    optimiser = make_optimiser(model, TrainConfig(lr=0.1, weight_decay=0.1))
    claimed = [id(p) for group in optimiser.param_groups for p in group["params"]]
    assert sorted(claimed) == sorted(id(p) for p in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
            parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for name, parameter in model.named_parameters():
        expected = 0.99 if parameter.dim() >= 2 else 1.0
        assert torch.allclose(parameter, torch.full_like(parameter, expected), atol=1e-7), name
        if parameter.dim() < 2:
            assert (parameter == 1).all(), name


def test_no_step_is_wasted_on_a_rate_of_zero() -> None:
    config = TrainConfig(steps=100, warmup=4, lr=1.0, min_lr=0.1)
    assert [learning_rate(config, t) for t in range(5)] == [0.25, 0.5, 0.75, 1, 1]


def test_the_rate_falls_to_its_minimum_and_stays_there() -> None:
    config = TrainConfig(steps=100, warmup=4, lr=1.0, min_lr=0.1)
    rates = [learning_rate(config, t) for t in range(4, 101)]
    assert rates == sorted(rates, reverse=True)
    assert learning_rate(config, 52) == pytest.approx(0.55)
    assert [learning_rate(config, t) for t in (100, 101, 10_000)] == pytest.approx([0.1] * 3)


@pytest.mark.parametrize("warmup", [0, 1, 500])
def test_any_warmup_gives_a_rate(warmup: int) -> None:
    config = TrainConfig(steps=10, warmup=warmup, lr=1.0)
    assert all(0 < learning_rate(config, t) <= 1 for t in range(12))


def test_the_state_comes_back_as_it_was() -> None:
    torch.manual_seed(0)
    model = GPT(CONFIG)
    optimiser = make_optimiser(model, TrainConfig())
    model(torch.arange(8)[None])[0].sum().backward()
    optimiser.step()
    saved = state_tensors(optimiser, model)
    assert {key.rpartition("/")[2] for key in saved} == {"step", "exp_avg", "exp_avg_sq"}
    again = make_optimiser(model, TrainConfig())
    load_state_tensors(again, model, saved)
    for key, value in state_tensors(again, model).items():
        assert torch.equal(value, saved[key]), key
        assert value.data_ptr() != saved[key].data_ptr(), "a restored state must not share memory"
