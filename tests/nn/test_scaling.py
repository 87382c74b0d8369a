"""Stretched rotary frequencies: which stay, which are slowed, and by how much."""

import math

import pytest
import torch

from glassformer.nn.positions import Rotary, rotate
from glassformer.nn.scaling import Dynamic, Linear, Llama3, Yarn, stretched

BASE, D = 10_000.0, 64
FREQUENCY = 1 / BASE ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
LLAMA3 = Llama3(8.0, 1.0, 4.0, 1024)
YARN = Yarn(8.0, 1024, 1.2)


def test_none_and_dynamic_change_nothing_and_linear_all():
    assert stretched(FREQUENCY, None) is FREQUENCY
    assert stretched(FREQUENCY, Dynamic(4.0)) is FREQUENCY
    assert torch.equal(stretched(FREQUENCY, Linear(4.0)), FREQUENCY / 4)


@pytest.mark.parametrize(("rule", "slow", "fast"), [(LLAMA3, 1, 4), (YARN, 1, 32)])
def test_many_turns_stay_and_few_are_slowed(rule, slow, fast):
    turns = 1024 * FREQUENCY / (2 * math.pi)
    shares = stretched(FREQUENCY, rule) / FREQUENCY
    one_pair = FREQUENCY[0] / FREQUENCY[1]  # YaRN rounds to whole pairs
    assert (shares[turns > fast * one_pair] == 1).all()
    torch.testing.assert_close(
        shares[turns * one_pair < slow], torch.full_like(shares, 1 / 8)[turns * one_pair < slow]
    )
    between = shares[(turns > slow) & (turns < fast)]
    assert len(between) > 3
    assert (between.diff() < 0).all()


def test_llama3_blends_by_turns():
    """2.5 of 1 to 4 turns is half way: half of the frequency, and half of an eighth of it."""
    frequency = torch.tensor([2.5 * 2 * math.pi / 1024], dtype=torch.float64)
    torch.testing.assert_close(stretched(frequency, LLAMA3), frequency * (0.5 + 0.5 / 8))


def test_yarn_blends_evenly_from_pair_to_pair():
    kept = (stretched(FREQUENCY, YARN) / FREQUENCY - 1 / 8) / (1 - 1 / 8)
    steps = kept.diff()[(kept[:-1] < 1 - 1e-9) & (kept[1:] > 1e-9)]
    torch.testing.assert_close(steps, steps[:1].expand_as(steps))
    pair = {turns: D * math.log(1024 / (turns * 2 * math.pi)) / (2 * math.log(BASE)) for turns in (32, 1)}
    first, last = math.floor(pair[32]), math.ceil(pair[1])
    assert kept[first] == 1
    assert kept[last].item() == pytest.approx(0, abs=1e-12)
    assert kept[first + 1].item() == pytest.approx(1 - 1 / (last - first))
    exact = stretched(FREQUENCY, Yarn(8.0, 1024, 1.2, whole=False)) / FREQUENCY
    slope = (1 - 1 / 8) / (pair[1] - pair[32])
    assert exact[first + 1].item() == pytest.approx(1 - slope * (first + 1 - pair[32]))


@pytest.mark.parametrize("frequency", [[1.0], [1.0, 0.5]])
def test_a_head_of_few_pairs_has_finite_frequencies(frequency):
    for rule in (YARN, LLAMA3, Yarn(8.0, 4, 1.0), Yarn(8.0, 1 << 20, 1.0)):
        assert stretched(torch.tensor(frequency), rule).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rotary_turns_by_the_stretched_angle(dtype):
    x, pos = torch.randn(1, 1, 5, 8, generator=torch.Generator().manual_seed(0)).to(dtype), torch.arange(5)
    turned = Rotary(8, scaling=Linear(4.0)).rotation(pos * 4)(x)
    torch.testing.assert_close(turned, rotate(x, pos))
    longer = Rotary(8, scaling=Yarn(1.0, 16, 1.5)).rotation(pos)(x)
    torch.testing.assert_close(longer, 1.5 * rotate(x, pos))
    assert longer.dtype == dtype


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(0.0), "factor must be above 0, not 0.0"),
        (lambda: Dynamic(-1.0), "factor must be above 0"),
        (lambda: Linear(float("nan")), "factor must be above 0, not nan"),
        (lambda: Llama3(8.0, 4.0, 4.0, 1024), "low = 4.0 must be below high = 4.0"),
        (lambda: Llama3(8.0, 1.0, 4.0, 0), "original_context must be above 0"),
        (lambda: Yarn(8.0, 1024, 1.0, fast=1.0), "slow = 1.0 must be below fast = 1.0"),
        (lambda: Yarn(8.0, 1024, 0.0), "attention_factor must be above 0"),
        (lambda: Linear(2.0, kind="yarn"), "kind must be linear"),
    ],
)
def test_rules_without_meaning_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
