"""Who is decayed, at what rate, and that the state comes back."""

import dataclasses

import pytest
import torch

from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig
from glassformer.training.muon import Muon, orthogonal
from glassformer.training.optimiser import (
    load_state_tensors,
    make_optimisers,
    rate_share,
    set_rates,
    state_tensors,
)
from glassformer.training.settings import TrainConfig

CONFIG = GPTConfig(11, context=8, n_layers=1, n_heads=2, d_model=8, norm="layernorm", bias=True)


BOTH = pytest.mark.parametrize("optimiser", ["adamw", "muon"])


@BOTH
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("positions", ["learned", "rotary", "relative"])
def test_every_parameter_is_claimed_once_and_only_matrices_decay(
    tied: bool, positions: str, optimiser: str
) -> None:
    model = GPT(dataclasses.replace(CONFIG, tie_embeddings=tied, positions=positions))
    config = TrainConfig(optimiser=optimiser, lr=0.1, muon_lr=0.1, weight_decay=0.1)
    optimisers = make_optimisers(model, config)
    claimed = [id(p) for o in optimisers for group in o.param_groups for p in group["params"]]
    assert sorted(claimed) == sorted(id(p) for p in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
            parameter.grad = torch.zeros_like(parameter)
    for each in optimisers:
        each.step()
    for name, parameter in model.named_parameters():
        expected = 0.99 if parameter.dim() >= 2 else 1.0
        assert torch.allclose(parameter, torch.full_like(parameter, expected), atol=1e-7), name
        if parameter.dim() < 2:
            assert (parameter == 1).all(), name


def test_no_step_is_wasted_on_a_rate_of_zero() -> None:
    config = TrainConfig(steps=100, warmup=4, lr=7.0, min_lr=0.1)
    assert [rate_share(config, t) for t in range(5)] == [0.25, 0.5, 0.75, 1, 1]


def test_the_rate_falls_to_its_minimum_and_stays_there() -> None:
    config = TrainConfig(steps=100, warmup=4, lr=1.0, min_lr=0.1)
    rates = [rate_share(config, t) for t in range(4, 101)]
    assert rates == sorted(rates, reverse=True)
    assert rate_share(config, 52) == pytest.approx(0.55)
    assert [rate_share(config, t) for t in (100, 101, 10_000)] == pytest.approx([0.1] * 3)


@pytest.mark.parametrize("warmup", [0, 1, 500])
def test_any_warmup_gives_a_rate(warmup: int) -> None:
    config = TrainConfig(steps=10, warmup=warmup, lr=1.0)
    assert all(0 < rate_share(config, t) <= 1 for t in range(12))


def test_each_optimiser_has_its_own_rate() -> None:
    config = TrainConfig(optimiser="muon", steps=100, warmup=4, lr=1.0, muon_lr=0.2)
    adamw, muon = make_optimisers(GPT(CONFIG), config)
    assert set_rates([adamw, muon], config, 1) == 0.5
    assert [group["lr"] for o in (adamw, muon) for group in o.param_groups] == pytest.approx([0.5, 0.5, 0.1])


@BOTH
def test_the_state_comes_back_as_it_was(optimiser: str) -> None:
    torch.manual_seed(0)
    model = GPT(CONFIG)
    config = TrainConfig(optimiser=optimiser)
    optimisers = make_optimisers(model, config)
    model(torch.arange(8)[None])[0].sum().backward()
    for each in optimisers:
        each.step()
    saved = state_tensors(optimisers, model)
    entries = {key.rpartition("/")[2] for key in saved}
    assert entries - {"momentum"} == {"step", "exp_avg", "exp_avg_sq"}
    assert ("momentum" in entries) == (optimiser == "muon")
    again = make_optimisers(model, config)
    load_state_tensors(again, model, saved)
    for key, value in state_tensors(again, model).items():
        assert torch.equal(value, saved[key]), key
        assert value.data_ptr() != saved[key].data_ptr(), "a restored state must not share memory"
    other = TrainConfig(optimiser="adamw" if optimiser == "muon" else "muon")
    with pytest.raises(UserError, match="goes on with the same optimiser"):
        load_state_tensors(make_optimisers(model, other), model, saved)


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 16, 48), (2, 48, 16), (1, 5, 7)])
def test_singular_values_come_near_1_and_vectors_stay(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    u, values, v = torch.linalg.svd(matrices, full_matrices=False)
    singular = torch.diagonal(u.mT @ orthogonal(matrices) @ v.mT, dim1=1, dim2=2)
    assert ((singular > 0.6) & (singular < 1.3)).all()
    rest = orthogonal(matrices) - u @ torch.diag_embed(singular) @ v
    assert rest.abs().max() < 1e-3
    assert values.max() / values.min() > 2


def test_a_step_of_muon_is_the_formula() -> None:
    torch.manual_seed(0)
    matrix, gradients = torch.nn.Parameter(torch.randn(8, 4)), torch.randn(2, 8, 4)
    expected, momentum = matrix.detach().clone(), torch.zeros(8, 4)
    muon = Muon([matrix, torch.nn.Parameter(torch.ones(4, 4))], lr=0.1, weight_decay=0.5)
    for gradient in gradients:
        matrix.grad = gradient.clone()
        muon.step()
        momentum = 0.95 * momentum + 0.05 * gradient
        ahead = 0.05 * gradient + 0.95 * momentum
        expected = expected * (1 - 0.1 * 0.5) - 0.1 * 2**0.5 * orthogonal(ahead[None])[0]
    torch.testing.assert_close(matrix.detach(), expected)


def test_muon_takes_the_matrices_of_the_blocks_alone() -> None:
    model = GPT(dataclasses.replace(CONFIG, tie_embeddings=False, positions="relative"))
    _, muon = make_optimisers(model, TrainConfig(optimiser="muon"))
    taken = {id(p) for group in muon.param_groups for p in group["params"]}
    names = {name for name, p in model.named_parameters() if id(p) in taken}
    assert {name.rpartition(".")[0].rpartition(".")[2] for name in names} == {
        *("query", "key", "value", "output"),
        *("up", "down"),
    }


def test_the_schedule_of_2017_is_its_formula() -> None:
    """d^-½ min(t^-½, t · warmup^-3/2) for t = 1, 2, …, at the rate that this has at the end of the warmup."""
    d, warmup = 512, 40
    config = TrainConfig(warmup=warmup, decay="inverse_sqrt", lr=(d * warmup) ** -0.5, min_lr=0)
    for t in (1, 2, 39, 40, 41, 1000, 100_000):
        theirs = d**-0.5 * min(t**-0.5, t * warmup**-1.5)
        assert config.lr * rate_share(config, t - 1) == pytest.approx(theirs, rel=1e-12)
    assert rate_share(dataclasses.replace(config, min_lr=0.1), 100_000) == 0.1
    assert rate_share(dataclasses.replace(config, warmup=0), 0) == 1
