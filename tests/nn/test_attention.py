"""Attention: the lecture's numbers, reference == fused on every kind of mask, taps, errors, heads."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.nn import masks
from glassformer.nn.attention import attend

BACKENDS = pytest.mark.parametrize("backend", ["reference", "fused"])
X = torch.tensor([[1, 0, 0.5], [0, 1, 0.2], [0.5, 0, 1], [0, 0.8, 0.3]])  # four words of the lecture


class Tap:
    """Wants the names given, or all; keeps what it sees; may change it."""

    def __init__(self, *names, change=None):
        self.names, self.change, self.seen = names, change or {}, {}

    def __call__(self, name, tensor):
        self.seen[name] = tensor
        return self.change.get(name, lambda t: t)(tensor)

    def at(self, path):
        raise AssertionError(f"attention has no child {path}")

    def wants(self, name):
        return not self.names or name in self.names


def weights_of(q, k, mask=None, **options):
    tap = Tap("weights")
    attend(q, k, k, mask, tap=tap, **options)
    return tap.seen["weights"]


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_four_words_of_the_lecture():
    rounded = [[0.34, 0.18, 0.30, 0.18], [0.19, 0.32, 0.20, 0.29], [0.29, 0.18, 0.33, 0.19]]
    rounded.append([0.20, 0.30, 0.22, 0.28])
    assert torch.equal(weights_of(X, X).mul(100).round(), torch.tensor(rounded).mul(100).round())
    for backend in ("reference", "fused"):
        first = attend(X, X, X, backend=backend)[0]
        torch.testing.assert_close(first, torch.tensor([0.4923, 0.3226, 0.5592]), atol=5e-5, rtol=0)


@BACKENDS
@pytest.mark.parametrize(("second", "expected"), [((0.0, 2.0), [0.5, 1.5]), ((0.0, 4.0), [0.5, 3.0])])
def test_two_value_warm_up(backend, second, expected):
    q, k, v = torch.ones(1, 1), torch.tensor([[0.0], [math.log(3)]]), torch.tensor([(2.0, 0.0), second])
    torch.testing.assert_close(attend(q, k, v, backend=backend), torch.tensor([expected]))
    torch.testing.assert_close(weights_of(q, k), torch.tensor([[0.25, 0.75]]))


KINDS = ["none", "causal", "padding", "window", "combined", "nowhere", "per head"]


def make_mask(kind, batch, n, m, random):
    """A mask for queries at the last n of m positions, in rows with padding; rank fits `batch`."""
    q_pos, k_pos = torch.arange(m - n, m), torch.arange(m)
    valid = torch.rand(batch[-2] if len(batch) > 1 else 1, m, generator=random) < 0.6
    padded = masks.padding(valid) if len(batch) > 1 else valid
    match kind:
        case "none" | "causal":
            return None if kind == "none" else "causal"
        case "padding":
            return padded
        case "window":
            return masks.window(q_pos, k_pos, 2)
        case "combined":
            return masks.combine(padded, masks.window(q_pos, k_pos, 3), masks.causal(q_pos, k_pos))
        case "nowhere":
            return torch.rand(n, m, generator=random) < 0.2
        case "per head":
            return torch.rand(*batch, n, m, generator=random) < 0.5


@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    kind=st.sampled_from(KINDS),
    outer=st.lists(st.integers(1, 3), max_size=2),
    heads=st.none() | st.sampled_from([(1, 1), (2, 2), (4, 2), (6, 2), (3, 1)]),
    n=st.integers(1, 5),
    cached=st.integers(0, 4),
    d_k=st.integers(1, 9),
    d_v=st.integers(1, 9),
    biased=st.booleans(),
    scale=st.none() | st.just(0.3),
    precision=st.sampled_from([(torch.float32, 1e-5), (torch.float64, 1e-10)]),
    seed=st.integers(0, 10**6),
)
def test_fused_equals_reference(kind, outer, heads, n, cached, d_k, d_v, biased, scale, precision, seed):
    """Ranks 2 (no heads) to 5; outputs and all gradients."""
    dtype, tolerance = precision
    random = torch.Generator().manual_seed(seed)
    m = n + cached
    h, g = heads or (None, None)
    batch, kv_batch = ((*outer, h), (*outer, g)) if heads else ((), ())

    def tensor(*shape):
        return torch.randn(shape, generator=random, dtype=dtype).requires_grad_()

    q, k, v = tensor(*batch, n, d_k), tensor(*kv_batch, m, d_k), tensor(*kv_batch, m, d_v)
    inputs = [q, k, v, *([tensor(*batch[-1:], n, m)] if biased else [])]
    mask, towards = make_mask(kind, batch, n, m, random), tensor(*batch, n, d_v)
    results = []
    for backend in ("reference", "fused", "auto"):
        out = attend(q, k, v, mask, scale=scale, bias=inputs[3] if biased else None, backend=backend)
        results.append((out, *torch.autograd.grad((out * towards).sum(), inputs)))
    assert results[0][0].shape == (*batch, n, d_v)
    for reference, *others in zip(*results, strict=True):
        assert reference.isfinite().all()
        for other in others:
            torch.testing.assert_close(other, reference, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize(
    ("batch", "kv_batch"), [((), ()), ((3,), (3,)), ((2, 4), (2, 2)), ((2, 1, 6), (2, 1, 3))]
)
def test_weights_asked_for_under_a_causal_mask_are_the_references(batch, kv_batch, gradients):
    """Recorded and changed alike, whatever way they were computed."""
    random = torch.Generator().manual_seed(0)
    q = torch.randn(*batch, 7, 5, generator=random, dtype=torch.float64)
    k, v = (torch.randn(*kv_batch, 7, 5, generator=random, dtype=torch.float64) for _ in range(2))
    results = []
    for backend in ("auto", "reference"):
        seen = []

        def halve_the_first_key(weights, seen=seen):
            seen.append(weights.clone())
            return weights * torch.tensor([0.5] + [1.0] * 6, dtype=weights.dtype)

        with torch.set_grad_enabled(gradients):
            out = attend(
                q,
                k,
                v,
                "causal",
                backend=backend,
                tap=Tap("weights", change={"weights": halve_the_first_key}),
            )
        results.append((out, *seen))
    assert len(results[0]) == 2
    for mine, reference in zip(*results, strict=True):
        assert mine.shape == reference.shape
        torch.testing.assert_close(mine, reference, atol=1e-10, rtol=1e-10)


@BACKENDS
@pytest.mark.parametrize("said_by", ["mask", "mask beside a bias", "bias"])
def test_a_row_that_may_look_nowhere(backend, said_by):
    """Not NaN, and not the mean of what is forbidden."""
    allowed = mask = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]]).bool()
    q, k, v, bias = (normal(2, 3, width, seed=width).requires_grad_() for width in (4, 4, 4, 3))
    if said_by == "bias":
        mask, bias = None, torch.zeros(3, 3).masked_fill(~allowed, -math.inf).requires_grad_()
    bias = None if said_by == "mask" else bias
    out = attend(q, k, v, mask, bias=bias, backend=backend)
    assert torch.equal(out[:, 2], torch.zeros(2, 4))
    torch.testing.assert_close(out[:, 0], v[:, 0])
    out.sum().backward()
    assert all(t.grad.isfinite().all() for t in (q, k, v, bias) if t is not None)
    assert torch.equal(q.grad[:, 2], torch.zeros(2, 4))
    weights = weights_of(q, k, mask, bias=bias)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([[1.0, 1.0, 0.0]] * 2))
    assert torch.equal(weights[~allowed.expand(2, 3, 3)], torch.zeros(12))


def test_what_the_fused_kernel_is_handed(monkeypatch):
    """Never a row that may look nowhere; no mask at all where one new token sees its whole cache."""
    handed, fused = [], F.scaled_dot_product_attention

    def spy(q, k, v, attn_mask=None, **options):
        handed.append(attn_mask)
        return fused(q, k, v, attn_mask, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    attend(X, X, X, torch.eye(4).bool() & torch.tensor([True, False, True, True]))
    attend(X[:1], X, X, "causal")
    assert handed[0].int().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert handed[1] is None


@BACKENDS
@pytest.mark.parametrize(("n", "expected"), [(2, [1.5, 2.0]), (1, [2.0]), (5, [0.0, 0.5, 1.0, 1.5, 2.0])])
def test_causal_lines_up_the_last_query_with_the_last_key(backend, n, expected):
    v = torch.arange(5.0)[:, None]
    out = attend(torch.zeros(n, 1), torch.zeros(5, 1), v, "causal", backend=backend)
    torch.testing.assert_close(out[:, 0], torch.tensor(expected))


def test_true_means_may_look():
    assert weights_of(X[:1], X[:3], torch.tensor([[False, False, True]])).tolist() == [[0, 0, 1]]


def test_scale_one_is_t5s():
    q, k = torch.ones(1, 4), torch.tensor([[1.0] * 4, [0.0] * 4])
    torch.testing.assert_close(weights_of(q, k, scale=1), torch.tensor([[0.982, 0.018]]), atol=5e-4, rtol=0)
    torch.testing.assert_close(weights_of(q, k), torch.tensor([[0.881, 0.119]]), atol=5e-4, rtol=0)


@BACKENDS
def test_bf16_on_left_padded_rows(backend):
    valid = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]]).bool()
    mask = masks.combine(masks.padding(valid), masks.dense("causal", 4, 4))
    q, k, v = (normal(3, 2, 4, 8, seed=seed) for seed in range(3))
    out = attend(q.bfloat16(), k.bfloat16(), v.bfloat16(), mask, backend=backend)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), attend(q, k, v, mask), atol=0.03, rtol=0)


def test_each_key_head_serves_neighbouring_query_heads():
    q, k, v = normal(6, 3, 4), normal(2, 3, 4, seed=1), normal(2, 3, 4, seed=2)
    by_hand = torch.stack([attend(q[i], k[i // 3], v[i // 3]) for i in range(6)])
    torch.testing.assert_close(attend(q, k, v), by_hand)


@BACKENDS
def test_order_is_invisible_without_mask_and_seen_with_one(backend):
    order = torch.tensor([2, 0, 3, 1])

    def error(mask):
        shuffled = attend(X[order], X[order], X[order], mask, backend=backend)
        return (shuffled - attend(X, X, X, mask, backend=backend)[order]).abs().max()

    assert error(None) < 1e-6
    assert error("causal") > 0.05


@BACKENDS
def test_dropout_drops_weights_and_makes_up_for_them(backend):
    torch.manual_seed(0)
    q, k = normal(50, 4), normal(50, 4, seed=1)
    kept = attend(q, k, torch.eye(50), dropout=0.5, backend=backend) / weights_of(q, k)
    assert 0.4 < (kept == 0).float().mean() < 0.6
    torch.testing.assert_close(kept[kept != 0], torch.full_like(kept[kept != 0], 2.0))


def test_a_tap_that_wants_neither_scores_nor_weights_leaves_the_path_fused():
    tap = Tap("q", "heads")
    assert torch.equal(attend(X, X, X, tap=tap), attend(X, X, X, backend="fused"))
    assert tap.seen == {}
    with pytest.raises(ValueError, match="reference"):
        attend(X, X, X, tap=Tap("scores"), backend="fused")


def test_a_cut_edge_is_renormalised_and_a_zeroed_weight_is_not():
    def edit(value):
        return lambda t: t.index_fill(-1, torch.tensor([3]), value)

    cut = Tap(change={"scores": edit(-math.inf)})
    torch.testing.assert_close(attend(X, X, X, tap=cut), attend(X, X[:3], X[:3]))
    zeroed = Tap(change={"weights": edit(0)})
    torch.testing.assert_close(attend(X, X, X, tap=zeroed), weights_of(X, X)[:, :3] @ X[:3])
    nothing_left = Tap(change={"scores": lambda t: t.fill_(-math.inf)})
    assert torch.equal(attend(X, X, X, tap=nothing_left), torch.zeros(4, 3))


@BACKENDS
@pytest.mark.parametrize(
    ("shapes", "mask", "message"),
    [
        ([(2, 3), (2, 4), (2, 4)], None, "share d_k"),
        ([(2, 3), (2, 3), (4, 3)], None, "one row per key"),
        ([(2, 2, 3), (2, 2, 3), (1, 2, 3)], None, "same batch and heads"),
        ([(3, 2, 3), (2, 2, 3), (2, 2, 3)], None, "must divide"),
        ([(2, 3), (2, 3), (2, 3)], torch.ones(2, 2), "must be boolean"),
        ([(2, 3), (2, 3), (2, 3)], torch.ones(2, 3).bool(), "2 keys"),
        ([(2, 3), (2, 3), (2, 3)], "casual", "unknown mask 'casual'"),
        ([(3, 3), (2, 3), (2, 3)], "causal", "a key for every query"),
    ],
)
def test_what_does_not_fit_is_named(backend, shapes, mask, message):
    with pytest.raises(ValueError, match=message):
        attend(*map(torch.zeros, shapes), mask, backend=backend)
