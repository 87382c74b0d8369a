"""Samplers: what each filter keeps at its borders, how ties fall, and draws that follow the distribution."""

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.decoding.samplers import Sampler, repetition_penalty, scale, top_k, top_p
from glassformer.errors import UserError

ALMOST_ONE = 1 - 2**-53  # the largest number that random() returns


class Fixed:
    """A source of chance that says the same number always."""

    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


def logits(*probabilities, dtype=torch.float32):
    return torch.tensor(probabilities, dtype=torch.float64).log().to(dtype)


def kept(filtered):
    return [i for i, value in enumerate(filtered.tolist()) if value > -math.inf]


def draws(sampler, row, n, chance):
    """n draws from one row of logits."""
    return sampler.choose(row.expand(n, -1), [[]] * n, [chance] * n)


TOP_P = [
    ((0.5, 0.3, 0.2), 0, [0]),
    ((0.5, 0.3, 0.2), 0.4, [0]),
    ((0.5, 0.3, 0.2), 0.6, [0, 1]),
    ((0.5, 0.3, 0.2), 0.9, [0, 1, 2]),
    ((0.5, 0.3, 0.2), 1, [0, 1, 2]),
    ((0.5, 0.25, 0.125, 0.125), 0.5, [0]),
    ((0.5, 0.25, 0.125, 0.125), 0.75, [0, 1]),
    ((0.5, 0.25, 0.125, 0.125), 0.76, [0, 1, 2]),
    ((0.2, 0.5, 0.3), 0.4, [1]),
    ((0.2, 0.5, 0.3), 0.6, [1, 2]),
    ((0.25,) * 4, 0, [0]),
    ((0.25,) * 4, 0.5, [0, 1]),
    ((1.0, 0.0), 1, [0]),
    ((1.0,), 0, [0]),
]


@pytest.mark.parametrize(("probabilities", "p", "expected"), TOP_P)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_top_p_keeps_the_smallest_set_that_reaches_p(probabilities, p, expected, dtype):
    row = logits(*probabilities, dtype=dtype)
    assert kept(top_p(row, p)) == expected
    assert kept(Sampler(top_p=p).filtered(row)) == expected
    torch.testing.assert_close(top_p(row, p)[expected], row[expected], rtol=0, atol=0)


@settings(derandomize=True, deadline=None)
@given(values=st.lists(st.integers(-8, 8), min_size=1, max_size=12), p=st.floats(0, 1))
def test_top_p_is_the_shortest_prefix_of_the_likeliest(values, p):
    row = torch.tensor(values, dtype=torch.float64)
    ids, order = kept(top_p(row, p)), sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert ids == sorted(order[: len(ids)])
    mass = row.softmax(-1)[order]
    assert mass[: len(ids)].sum() >= p - 1e-12
    assert len(ids) == 1 or mass[: len(ids) - 1].sum() < p + 1e-12


@pytest.mark.parametrize(
    ("values", "k", "expected"),
    [
        ([1, 3, 2], 1, [1]),
        ([1, 3, 2], 2, [1, 2]),
        ([1, 3, 2], 3, [0, 1, 2]),
        ([1, 3, 2], 100, [0, 1, 2]),
        ([2, 2, 1], 1, [0]),
        ([1, 2, 2, 2], 2, [1, 2]),
        ([0, 0, 0, 0], 3, [0, 1, 2]),
    ],
)
def test_top_k_keeps_exactly_k_and_ties_fall_to_the_lower_id(values, k, expected):
    row = torch.tensor(values, dtype=torch.float32)
    assert kept(top_k(row, k)) == expected
    assert kept(top_k(row.expand(2, 3, -1), k)[1, 2]) == expected
    assert torch.equal(top_k(row, k)[expected], row[expected])


@pytest.mark.parametrize("off", [Sampler(), Sampler(top_k=0), Sampler(top_k=100), Sampler(top_p=1)])
def test_what_is_off_keeps_all(off):
    assert kept(off.filtered(torch.tensor([2.0, 1.0, -50.0]))) == [0, 1, 2]


def test_top_k_of_1_is_greedy_also_among_equals():
    assert set(draws(Sampler(top_k=1), torch.tensor([2.0, 2.0, 1.0]), 1000, random.Random(0))) == {0}


def test_order_is_penalty_temperature_top_k_top_p():
    row = logits(0.4, 0.3, 0.2, 0.1)
    assert kept(Sampler(top_k=2, top_p=0.5).filtered(row)) == [0]  # 0.4 / (0.4 + 0.3) reaches 0.5
    assert kept(Sampler(top_p=0.5).filtered(row)) == [0, 1]
    assert kept(Sampler(temperature=0.5, top_p=0.5).filtered(row)) == [0]  # 0.16 / 0.3
    assert Sampler(top_k=1, repetition_penalty=9).choose(row[None], [[0]], [Fixed(0.5)]) == [1]


@pytest.mark.parametrize("k", [None, 0, 1, 2, 100])
@pytest.mark.parametrize("p", [None, 0, 0.5, 1])
def test_temperature_0_is_the_likeliest_for_every_seed(k, p):
    rows = torch.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 3.0], [-5.0, -5.0, -5.0]])
    for seed in range(20):
        chances = [random.Random(seed + i) for i in range(3)]
        assert Sampler(0, k, p).choose(rows, [[]] * 3, chances) == [2, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("temperature", [1e-9, 1e-300, 5e-324])
def test_tiny_temperatures_stay_finite(dtype, temperature):
    row = torch.tensor([1, 2, 3], dtype=dtype)
    mass = scale(row, temperature).softmax(-1)
    assert mass.tolist() == [0, 0, 1]
    assert Sampler(temperature).choose(row[None], [[]], [Fixed(0.5)]) == [2]


def test_large_logits_do_not_overflow():
    row = torch.tensor([60000.0, 59999.0], dtype=torch.float16).float()
    torch.testing.assert_close(scale(row, 0.5).softmax(-1), (row - 60000).div(0.5).double().softmax(-1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": -1},
        {"top_p": -0.1},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"repetition_penalty": 0},
        {"repetition_penalty": -2},
        {"repetition_penalty": math.nan},
        {"repetition_penalty": math.inf},
    ],
)
def test_values_out_of_range_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(UserError, match=rf"^{name} must .* not {value}$"):
        Sampler(**wrong)


@pytest.mark.parametrize("temperature", [0, 1])
def test_no_token_is_made_of_nan(temperature):
    with pytest.raises(UserError, match="NaN"):
        Sampler(temperature).choose(torch.tensor([[0.0, math.nan]]), [[]], [Fixed(0.5)])


@pytest.mark.parametrize(
    ("seen", "penalty", "expected"),
    [
        ([0, 1], 2, [1, -4, 1]),
        ([1, 0, 0, 1, 0], 2, [1, -4, 1]),
        ([0, 1], 0.5, [4, -1, 1]),
        ([], 2, [2, -2, 1]),
        ([2], 1, [2, -2, 1]),
    ],
)
def test_penalty_divides_the_positive_and_multiplies_the_negative_once(seen, penalty, expected):
    row = torch.tensor([2.0, -2.0, 1.0])
    assert repetition_penalty(row, seen, penalty).tolist() == expected
    assert row.tolist() == [2, -2, 1]


def test_penalty_is_for_a_rows_own_tokens():
    rows = torch.tensor([[3.0, 2.0, 1.0]]).expand(3, -1)
    seen = [[0], [0, 1], []]
    assert Sampler(0, repetition_penalty=4).choose(rows, seen, [Fixed(0)] * 3) == [1, 2, 0]


@pytest.mark.parametrize(
    ("sampler", "probabilities"),
    [
        (Sampler(), [0.4, 0.3, 0.2, 0.1, 0]),
        (Sampler(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30, 0]),
        (Sampler(top_k=3), [4 / 9, 3 / 9, 2 / 9, 0, 0]),
        (Sampler(top_p=0.7), [4 / 7, 3 / 7, 0, 0, 0]),
    ],
)
def test_draws_follow_the_distribution(sampler, probabilities):
    n = 20_000
    tokens = draws(sampler, logits(0.4, 0.3, 0.2, 0.1, 0), n, random.Random(0))
    counts = [tokens.count(i) for i in range(5)]
    assert [count > 0 for count in counts] == [p > 0 for p in probabilities]
    chi_square = sum((c - n * p) ** 2 / (n * p) for c, p in zip(counts, probabilities, strict=True) if p)
    assert chi_square < 16.3  # exceeded by chance once in a thousand, for 3 degrees of freedom


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    values=st.lists(st.sampled_from([0.0, 1.0, -3.0, -36.0, -800.0, -math.inf]), min_size=1, max_size=9),
    draw=st.sampled_from([0.0, 2**-53, 0.5, ALMOST_ONE]) | st.floats(0, ALMOST_ONE),
    sampler=st.builds(Sampler, st.sampled_from([0.1, 1.0, 7.0]), st.integers(0, 3), st.floats(0, 1)),
)
def test_what_has_no_probability_is_never_drawn(values, draw, sampler):
    row = torch.tensor([*values, 0.0, -math.inf])
    (token,) = sampler.choose(row[None], [[]], [Fixed(draw)])
    assert sampler.filtered(row).softmax(-1)[token] > 0


def test_the_ends_of_chance_are_the_first_and_last_token():
    row = logits(0, 0.25, 0, 0.5, 0.25, 0)[None]
    at = [0.0, 0.24, 0.26, 0.74, 0.76, ALMOST_ONE]
    assert [Sampler().choose(row, [[]], [Fixed(x)])[0] for x in at] == [1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("n", [1, 3, 10, 100, 1000, 10_000])
def test_the_last_token_is_the_last_however_the_sum_is_rounded(n):
    for row in (torch.zeros(1, n), torch.arange(n)[None] / n):
        assert Sampler().choose(row, [[]], [Fixed(ALMOST_ONE)]) == [n - 1]


def test_rows_do_not_depend_on_their_neighbours():
    rows = torch.randn(6, 50, generator=torch.Generator().manual_seed(0)) * 3
    sampler, seen = Sampler(0.9, 40, 0.95, 1.2), [[i, 2 * i] for i in range(6)]
    together = [random.Random(i) for i in range(6)]
    alone = [random.Random(i) for i in range(6)]
    for _ in range(5):
        lone = [sampler.choose(rows[i : i + 1], [seen[i]], [alone[i]])[0] for i in range(6)]
        assert sampler.choose(rows, seen, together) == lone
    assert [chance.random() for chance in together] == [chance.random() for chance in alone]
