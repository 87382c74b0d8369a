"""Positions: each kind's numbers, what it does to distances, and where it acts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.nn import masks
from glassformer.nn.attention import attend
from glassformer.nn.positions import (
    Learned,
    Positions,
    RelativeBias,
    Rotary,
    Sinusoidal,
    relative_buckets,
    rotate,
    sinusoids,
)

STYLES = pytest.mark.parametrize("style", ["half", "interleaved"])


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize(
    ("d", "p", "row"),
    [
        (4, 1, [0.8415, 0.5403, 0.0100, 0.99995]),
        (5, 0, [0, 1, 0, 1, 0]),
        (5, 1, [0.8415, 0.5403, 0.0251, 0.9997, 0.00063]),
        (1, 1, [0.8415]),
    ],
)
def test_sinusoids_of_any_width(d, p, row):
    expected = torch.tensor(row, dtype=torch.float64)
    torch.testing.assert_close(sinusoids(torch.tensor(p), d), expected, atol=5e-5, rtol=0)


@settings(derandomize=True, deadline=None)
@given(p=st.integers(0, 2000), delta=st.integers(0, 500), pairs=st.integers(1, 16))
def test_sinusoids_turn_in_circles(p, delta, pairs):
    """Sine and cosine of a pair share a frequency, so a step of delta is the same turn from everywhere."""
    here, there = sinusoids(torch.tensor([p, p + delta]), 2 * pairs).unflatten(-1, (pairs, 2))
    torch.testing.assert_close(here.norm(dim=-1), torch.ones(pairs, dtype=torch.float64))
    start, step = sinusoids(torch.tensor([0, delta]), 2 * pairs)
    torch.testing.assert_close((here * there).sum(), start @ step)
    sin, cos = step.unflatten(-1, (pairs, 2)).unbind(-1)
    turned = torch.stack((here[:, 0] * cos + here[:, 1] * sin, here[:, 1] * cos - here[:, 0] * sin), -1)
    torch.testing.assert_close(there, turned)


def test_sinusoidal_and_learned_are_added_row_by_row():
    pos, x = torch.tensor([[0, 0, 1], [2, 3, 4]]), normal(2, 3, 5, dtype=torch.float32)
    learned = Learned(5, 5)
    for kind, table in (
        (Sinusoidal(5), sinusoids(torch.arange(5), 5).float()),
        (learned, learned.table.weight),
    ):
        out = kind.embed(x, pos)
        torch.testing.assert_close(out, x + torch.stack((table[[0, 0, 1]], table[[2, 3, 4]])))
        assert out.dtype == x.dtype


@pytest.mark.parametrize(
    ("kind", "limit", "acts"),
    [
        (Positions(), None, []),
        (Sinusoidal(4), None, ["embed"]),
        (Learned(9, 4), 9, ["embed"]),
        (Rotary(4), None, ["rotation"]),
        (RelativeBias(2), None, ["bias"]),
    ],
)
def test_each_kind_acts_at_its_own_place(kind, limit, acts):
    pos, x = torch.arange(3), normal(1, 3, 4, dtype=torch.float32)
    places = {
        "embed": kind.embed(x, pos) is not x,
        "rotation": kind.rotation(pos) is not None,
        "bias": kind.bias(pos, pos) is not None,
    }
    assert [place for place, is_used in places.items() if is_used] == acts
    assert kind.limit == limit


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("half", [-1.9841, 1.9599, 2.4624, 4.0198]),
        ("interleaved", [-1.1426, 1.9221, 2.9599, 4.0298]),
    ],
)
def test_rotary_numbers(style, expected):
    x, pos = torch.tensor([[[[1.0, 2, 3, 4]]]]), torch.tensor([1])
    for turned in (rotate(x, pos, style=style), Rotary(4, style=style).rotation(pos)(x)):
        torch.testing.assert_close(turned[0, 0, 0], torch.tensor(expected), atol=5e-5, rtol=0)


def test_reordered_for_half_scores_as_interleaved():
    q, k, pos = normal(1, 2, 5, 8), normal(1, 2, 5, 8, seed=1), torch.arange(5)
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])

    def scores(q, k, style):
        return rotate(q, pos, style=style) @ rotate(k, pos, style=style).transpose(-2, -1)

    interleaved = scores(q, k, "interleaved")
    torch.testing.assert_close(scores(q[..., order], k[..., order], "half"), interleaved)
    assert (scores(q, k, "half") - interleaved).abs().max() > 0.1


@STYLES
def test_rotary_scores_depend_on_distance_alone(style):
    q, k = normal(1, 1, 1, 8), normal(1, 1, 1, 8, seed=1)

    def score(q_pos, k_pos):
        q_turned, k_turned = (
            Rotary(8, style=style).rotation(torch.tensor([p]))(x) for x, p in ((q, q_pos), (k, k_pos))
        )
        return (q_turned * k_turned).sum()

    torch.testing.assert_close(score(5, 2), score(1005, 1002), atol=1e-12, rtol=0)
    assert (score(5, 2) - score(5, 3)).abs() > 0.01


@STYLES
def test_rotary_keeps_lengths_and_the_first_position(style):
    x = normal(2, 3, 6, 8)
    turned = rotate(x, torch.arange(6), style=style)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])


@pytest.mark.parametrize("offsets", [(0, 5), (5, 0)])
def test_rotary_goes_by_the_position_not_by_the_length(offsets):
    """In either order of calls: nothing of the first may stick to the second."""
    kind, x = Rotary(4), normal(1, 1, 3, 4)
    first, second = (kind.rotation(torch.arange(3) + offset)(x) for offset in offsets)
    assert (first - second).abs().max() > 0.1
    torch.testing.assert_close(second, rotate(x, torch.arange(3) + offsets[1]))


@STYLES
def test_rotary_turns_each_row_by_its_own_offset(style):
    x, pos = normal(2, 3, 1, 8), torch.tensor([[5], [3]])
    turned = Rotary(8, style=style).rotation(pos)(x)
    for row in range(2):
        torch.testing.assert_close(turned[row], rotate(x, pos[row], style=style)[row])


@STYLES
def test_rotary_angles_are_never_bf16(style):
    """bf16 holds neither 1001 nor the slow frequencies."""
    x, pos = normal(1, 1, 1, 64, dtype=torch.bfloat16), torch.tensor([1001])
    exact = rotate(x.double(), pos, style=style)
    for turned in (rotate(x, pos, style=style), Rotary(64, style=style).rotation(pos)(x)):
        assert turned.dtype == torch.bfloat16
        torch.testing.assert_close(turned.double(), exact, atol=0.01, rtol=0.01)


def test_rotary_base_sets_the_slowest_turn():
    x, pos = torch.tensor([[[[0.0, 1, 0, 0]]]]), torch.tensor([3])
    for turned in (rotate(x, pos, 100.0), Rotary(4, 100.0).rotation(pos)(x)):
        torch.testing.assert_close(turned[0, 0, 0, 1], torch.tensor(0.3).cos())


def test_rotary_needs_pairs():
    with pytest.raises(ValueError, match="even, not 5"):
        Rotary(5)


def test_t5_buckets():
    distance = torch.tensor([0, 1, -1, 16, -16, 200, -200])
    assert relative_buckets(distance, 32, 128, True).tolist() == [0, 17, 1, 26, 10, 31, 15]
    assert relative_buckets(distance, 32, 128, False).tolist() == [0, 0, 1, 0, 16, 0, 31]


@pytest.mark.parametrize(("both_sides", "used"), [(True, 16), (False, 32)])
def test_t5_buckets_fill_up_with_distance(both_sides, used):
    buckets = relative_buckets(-torch.arange(300), 32, 128, both_sides)
    assert buckets.unique_consecutive().tolist() == list(range(used))
    assert buckets[: used // 2].tolist() == list(range(used // 2))
    assert buckets[128:].unique().tolist() == [used - 1]


def test_relative_bias_is_one_number_per_head_and_bucket():
    kind = RelativeBias(3)
    q_pos, k_pos = torch.tensor([[4], [2]]), torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
    bias = kind.bias(q_pos, k_pos)
    assert bias.shape == (2, 3, 1, 5)
    for row, distances in enumerate(([4, 3, 2, 1, 0], [2, 2, 2, 1, 0])):
        assert torch.equal(bias[row, :, 0], kind.table.weight[distances].T)
    assert kind.bias(q_pos[0], k_pos[0]).shape == (3, 1, 5)


def test_relative_bias_tells_left_from_right_when_bidirectional():
    pos = torch.arange(3)
    bias = RelativeBias(1, bidirectional=True).bias(pos, pos)
    assert bias.unique().numel() == 5
    assert RelativeBias(1).bias(pos, pos).unique().numel() == 3


@pytest.mark.parametrize("kind", [Sinusoidal(8), Learned(4, 8), Rotary(8), RelativeBias(1)])
def test_positions_make_order_visible(kind):
    order, pos = torch.tensor([2, 0, 3, 1]), torch.arange(4)

    def attended(x):
        x = kind.embed(x, pos)[:, None]
        turned = (kind.rotation(pos) or (lambda t: t))(x)
        return attend(turned, turned, x, bias=kind.bias(pos, pos))[:, 0]

    x = normal(1, 4, 8, dtype=torch.float32)
    assert (attended(x[:, order]) - attended(x)[:, order]).abs().max() > 1e-2


def test_left_padding_shifts_no_position():
    pos = masks.positions(torch.tensor([[0, 0, 1, 1, 1]]).bool())
    x = normal(1, 2, 5, 8)
    torch.testing.assert_close(rotate(x, pos)[:, :, 2:], rotate(x[:, :, 2:], torch.arange(3)))
