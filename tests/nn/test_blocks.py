"""Modules: multi-head attention, norms, the feed-forward network, the block, and their first values."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from glassformer.nn.attention import MultiHeadAttention, attend
from glassformer.nn.blocks import Block, FeedForward, initialise, make_norm


class Tap:
    """Wants everything and keeps it in order; may fill one of the tensors."""

    def __init__(self, name=None, value=0.0):
        self.name, self.value, self.path, self.seen = name, value, "", {}

    def __call__(self, name, tensor):
        name = self.path + name
        self.seen[name] = tensor
        return torch.full_like(tensor, self.value) if name == self.name else tensor

    def at(self, path):
        child = Tap(self.name, self.value)
        child.path, child.seen = f"{self.path}{path}.", self.seen
        return child

    def wants(self, name):
        return True


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def attention(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(12, 4, **options).eval()


def block(order="pre", dropout=0.0, norm="layernorm"):
    torch.manual_seed(0)
    norms = make_norm(norm, 12, 1e-5), make_norm(norm, 12, 1e-5)
    parts = MultiHeadAttention(12, 4, dropout=dropout), FeedForward(12, 20)
    return Block(*parts, norms, order=order, dropout=dropout)


@pytest.mark.parametrize(
    "options", [{}, {"n_kv_heads": 2}, {"n_kv_heads": 1, "d_head": 5}, {"d_head": 7, "bias": False}]
)
@pytest.mark.parametrize("memory", [None, normal(2, 6, 12, seed=1)])
def test_heads_stand_side_by_side(options, memory):
    """Row vectors: q_i = x_i W^Q with W^Q = query.weight.T, head i in its own columns."""
    module, x = attention(**options), normal(2, 5, 12)
    source, d = x if memory is None else memory, module.d_head
    group = module.n_heads // module.n_kv_heads

    def columns(linear, x, i):
        out = x @ linear.weight.T + (0 if linear.bias is None else linear.bias)
        return out[..., i * d : (i + 1) * d]

    heads = [
        attend(
            columns(module.query, x, i),
            columns(module.key, source, i // group),
            columns(module.value, source, i // group),
        )
        for i in range(4)
    ]
    torch.testing.assert_close(module(x, memory), module.output(torch.cat(heads, -1)))


def test_grouped_heads_are_full_heads_with_copied_weights():
    grouped, full = attention(n_kv_heads=2), attention()
    state = grouped.state_dict()
    for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
        state[name] = state[name].unflatten(0, (2, 3)).repeat_interleave(2, 0).flatten(0, 1)
    full.load_state_dict(state)
    x = normal(2, 5, 12)
    torch.testing.assert_close(grouped(x, mask="causal"), full(x, mask="causal"))


def test_attention_options_reach_the_scores():
    module, x = attention(), normal(1, 4, 12)
    plain = module(x)
    for change in (
        {"mask": "causal"},
        {"bias": normal(4, 4, 4)},
        {"rotate": lambda t: t * torch.arange(4.0)[:, None]},
    ):
        changed = module(x, **change)
        assert (changed - plain).abs().max() > 1e-3
        torch.testing.assert_close(module(x, backend="reference", **change), changed)
    tap = Tap()
    module(x, rotate=lambda t: t * 0, tap=tap)
    assert [tap.seen[name].any().item() for name in "qkv"] == [False, False, True]


def test_attention_head_counts_must_fit():
    with pytest.raises(ValueError, match="d_model = 10"):
        MultiHeadAttention(10, 4)
    with pytest.raises(ValueError, match="n_kv_heads = 3"):
        MultiHeadAttention(12, 4, n_kv_heads=3)


@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_dropout_only_while_training(backend):
    module, x = attention(dropout=0.5), normal(1, 6, 12)
    assert torch.equal(module(x, backend=backend), module(x, backend=backend))
    module.train()
    assert not torch.equal(module(x, backend=backend), module(x, backend=backend))


@pytest.mark.parametrize("module", [attention(), FeedForward(12, 20), FeedForward(12, 20, "swiglu"), block()])
def test_tap_names_are_those_handed_out(module):
    tap, x = Tap(), normal(2, 5, 12)
    torch.testing.assert_close(module(x, tap=tap), module(x))
    assert tuple(tap.seen) == module.TAP_NAMES


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("attention.v", lambda b, x: x + b.attention.output.bias),
        ("attention.weights", lambda b, x: x + b.attention.output.bias),
        ("attention.heads", lambda b, x: x + b.attention.output.bias),
        ("attention.output", lambda b, x: x),
        ("middle", lambda b, x: torch.zeros_like(x)),
    ],
)
def test_silenced_attention_leaves_the_stream(name, expected):
    module, x = block(), normal(2, 5, 12)
    middle = expected(module, x)
    after = middle + module.ffn(module.ffn_norm(middle))
    torch.testing.assert_close(module(x, tap=Tap(name)), after)


def test_silenced_ffn_leaves_the_stream():
    module, x = block(), normal(2, 5, 12)
    middle = x + module.attention(module.attention_norm(x))
    torch.testing.assert_close(module(x, tap=Tap("ffn.output")), middle)
    torch.testing.assert_close(module(x, tap=Tap("ffn.inner")), middle + module.ffn.down.bias)
    assert torch.equal(module(x, tap=Tap("output", 3.0)), torch.full_like(x, 3))


def test_pre_and_post_norm():
    x, pre, post = normal(2, 5, 12), block("pre"), block("post")
    options = {"mask": "causal", "bias": normal(4, 5, 5), "rotate": lambda t: t * torch.arange(5.0)[:, None]}
    middle = x + pre.attention(pre.attention_norm(x), **options)
    torch.testing.assert_close(pre(x, **options), middle + pre.ffn(pre.ffn_norm(middle)))
    middle = post.attention_norm(x + post.attention(x, **options))
    torch.testing.assert_close(post(x, **options), post.ffn_norm(middle + post.ffn(middle)))


def test_block_dropout_only_while_training():
    module, x = block(dropout=0.5), normal(2, 5, 12)
    module.attention.dropout = 0.0  # leaves the residual's own
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("relu", [0.0, 1.0]),
        ("gelu", [-0.0093608, 0.8413447]),
        ("gelu_tanh", [-0.0088876, 0.8411920]),
        ("swiglu", [2.7**2 / (1 + math.exp(2.7)), 1 / (1 + math.exp(-1))]),
    ],
)
def test_activations(kind, expected):
    module = FeedForward(1, 1, kind, bias=False)
    for parameter in module.parameters():
        nn.init.ones_(parameter)
    out = module(torch.tensor([[[-2.7], [1.0]]]))
    torch.testing.assert_close(out.flatten(), torch.tensor(expected), atol=5e-7, rtol=0)


def test_exact_and_tanh_gelu_are_two_things():
    x = torch.linspace(-6, 6, 10_001, dtype=torch.float64)
    exact, tanh = (FeedForward(1, 1, kind).activation(x) for kind in ("gelu", "gelu_tanh"))
    assert (exact - tanh).abs().max().item() == pytest.approx(4.73e-4, abs=1e-6)


def test_swiglu_gates():
    module, x = FeedForward(12, 20, "swiglu"), normal(2, 5, 12)
    torch.testing.assert_close(module(x), module.down(F.silu(module.gate(x)) * module.up(x)))
    assert FeedForward(12, 20).gate is None


@pytest.mark.parametrize(("eps", "expected"), [(1e-12, 1.0), (1e-5, 0.156)])
def test_layernorm_takes_its_eps(eps, expected):
    out = make_norm("layernorm", 2, eps)(torch.tensor([0.0, 0.001]))
    torch.testing.assert_close(out, torch.tensor([-expected, expected]), atol=5e-4, rtol=0)


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rmsnorm_divides_by_the_root_mean_square(eps):
    x = normal(2, 3, 8)
    by_hand = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    torch.testing.assert_close(make_norm("rmsnorm", 8, eps)(x), by_hand)


def test_a_constant_row_is_no_trouble():
    assert torch.equal(make_norm("layernorm", 4, 1e-12)(torch.ones(4)), torch.zeros(4))
    assert torch.equal(make_norm("rmsnorm", 4, 1e-12)(torch.zeros(4)), torch.zeros(4))


def test_norm_bias():
    assert make_norm("layernorm", 4, 1e-5, bias=False).bias is None
    assert make_norm("layernorm", 4, 1e-5).bias is not None
    assert [name for name, _ in make_norm("rmsnorm", 4, 1e-5).named_parameters()] == ["weight"]


@pytest.mark.parametrize("kind", ["gelu", "swiglu"])
def test_first_values(kind):
    """Whatever was there before: the two writers into the stream get std / √(2 n_layers)."""
    torch.manual_seed(0)
    norms = make_norm("layernorm", 128, 1e-5), make_norm("rmsnorm", 128, 1e-5)
    layer = Block(MultiHeadAttention(128, 4), FeedForward(128, 256, kind), norms)
    model = nn.ModuleDict({"embedding": nn.Embedding(300, 128), "block": layer, "head": nn.Linear(128, 300)})
    for parameter in model.parameters():
        nn.init.constant_(parameter, 7)
    initialise(model, n_layers=8, std=0.1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert torch.equal(parameter, torch.ones(128)), name
        else:
            writes = name.endswith(("attention.output.weight", "ffn.down.weight"))
            assert parameter.std().item() == pytest.approx(0.1 / 4 if writes else 0.1, rel=0.03), name
            assert abs(parameter.mean().item()) < 0.005, name
    initialise(model, n_layers=8)
    assert model["embedding"].weight.std().item() == pytest.approx(0.02, rel=0.03)
