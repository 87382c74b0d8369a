"""A block through the kernel is the block: every norm, activation and position, with padding and in int8."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from glassformer.decoding import kernel as compiling
from glassformer.decoding.block import QuickBlock
from glassformer.decoding.prepare import Int8Linear, QuickLinear
from glassformer.nn import masks
from glassformer.nn.attention import MultiHeadAttention
from glassformer.nn.blocks import ACTIVATIONS, Block, FeedForward, make_norm
from glassformer.nn.positions import RelativeBias, Rotary
from glassformer.nn.state import KVState

pytestmark = pytest.mark.skipif(compiling.kernel() is None, reason="no C compiler here")
HEADS, D_HEAD = 4, 6


def block(*, norm="rmsnorm", activation="gelu", order="pre", groups=4, bias=True, qk_norm=False, eps=1e-5):
    head_norms = (make_norm(norm, D_HEAD, eps), make_norm(norm, D_HEAD, eps)) if qk_norm else None
    made = Block(
        MultiHeadAttention(20, HEADS, n_kv_heads=groups, d_head=D_HEAD, bias=bias, qk_norm=head_norms),
        FeedForward(20, 33, activation, bias=bias),
        (make_norm(norm, 20, eps, bias), make_norm(norm, 20, eps, bias)),
        order=order,
    )
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.4)
    return made.eval()


def quick(made, linear=QuickLinear.of):
    """The block with other linear layers, and the same through the kernel."""
    changed = copy.deepcopy(made)
    for name, module in list(changed.named_modules()):
        if type(module) is nn.Linear:
            setattr(changed.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], linear(module))
    assert QuickBlock.suits(changed)
    return changed, QuickBlock.of(changed)


def state(rows, groups, length):
    seen = KVState.empty(1, rows, groups, D_HEAD, length + 3).extended(length)
    seen.layer(0).append(*torch.randn(2, rows, groups, length, D_HEAD))
    return seen


def both(slow, fast, rows, length, **options):
    """What each makes of one new token behind `length` others, and the two caches after it."""
    seen, x = state(rows, slow.attention.n_kv_heads, length), torch.randn(rows, 1, 20)
    results = []
    for made in (slow, fast):
        cache = seen.reorder(torch.arange(rows)).extended(1).layer(0)
        results.append((made(x, mask=options.get("mask"), cache=cache, **without(options)), cache.k, cache.v))
    return results


def without(options):
    return {name: value for name, value in options.items() if name != "mask"}


def assert_same(results):
    for slow, fast in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow, atol=2e-5, rtol=2e-5)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(
    norm=st.sampled_from(["layernorm", "rmsnorm"]),
    activation=st.sampled_from(list(ACTIVATIONS)),
    order=st.sampled_from(["pre", "post"]),
    groups=st.sampled_from([1, 2, 4]),
    bias=st.booleans(),
    qk_norm=st.booleans(),
    eps=st.sampled_from([1e-5, 1e-1, None]),
    rows=st.integers(1, 4),
    length=st.integers(0, 9),
    style=st.sampled_from(["half", "interleaved", None]),
    relative=st.booleans(),
    padded=st.booleans(),
    linear=st.sampled_from([QuickLinear.of, Int8Linear]),
)
def test_the_kernels_block_is_the_block(rows, length, style, relative, padded, linear, **kinds):
    if kinds["norm"] == "layernorm":
        kinds["eps"] = kinds["eps"] or 1e-5
    torch.manual_seed(length)
    slow, fast = quick(block(**kinds), linear)
    valid = torch.rand(rows, length + 1) < 0.5 if padded else None
    if valid is not None:
        valid[:, -1] = True  # a new token sees itself
    q_pos, k_pos, mask = masks.causal_places(1, length + 1, valid)
    with torch.inference_mode():
        rotate = Rotary(D_HEAD, style=style).rotation(q_pos) if style else None
        bias = RelativeBias(HEADS).bias(q_pos, k_pos) if relative else None
        assert_same(both(slow, fast, rows, length, mask=mask, rotate=rotate, bias=bias))


def called(monkeypatch):
    calls, compiled = [], compiling.kernel()

    def block_of(*given):
        calls.append(given)
        return compiled.block(*given)

    monkeypatch.setattr("glassformer.decoding.block.kernel", lambda: compiled._replace(block=block_of))
    return calls


def test_the_kernel_is_left_out_where_it_has_no_answer(monkeypatch):
    calls = called(monkeypatch)
    slow, fast = quick(block())
    seen, x = state(2, 4, 5), torch.randn(2, 1, 20)

    def step(x=x, **options):
        return fast(x, cache=seen.extended(x.shape[1]).layer(0), **options)

    with torch.inference_mode():
        step()
        assert len(calls) == 1
        names = []
        tap = type("Names", (), {
            "at": lambda self, _: self,
            "wants": lambda self, name: name == "output",
            "__call__": lambda self, name, value: (names.append(name), value)[1],
        })()  # fmt: skip
        step(tap=tap)
        assert "q" in names
        step(backend="reference")
        step(torch.randn(2, 3, 20))
        fast(x)
        turn = Rotary(D_HEAD).rotation(torch.tensor([5]))
        step(rotate=lambda q: turn(q))
    with torch.no_grad():
        step()
    many = torch.randn(5, 1, 20)
    with torch.inference_mode():
        fast(many, cache=state(5, 4, 2).extended(1).layer(0))
    assert len(calls) == 2
    fast(x).sum().backward()
    assert slow.ffn.up.weight.grad is not None


def test_blocks_with_other_parts_keep_their_own_way():
    class Other(nn.Module):
        def forward(self, x):
            return x

    plain = block()
    assert not QuickBlock.suits(plain)  # its linear layers are PyTorch's
    _, fast = quick(plain)
    assert not QuickBlock.suits(fast)  # already so
    changed, _ = quick(plain)
    changed.ffn_norm = Other()
    assert not QuickBlock.suits(changed)


def test_infinities_and_nan_in_a_block_are_not_hidden():
    slow, fast = quick(block())
    for bad in (float("inf"), float("nan")):
        slow.attention_norm.weight.data[3] = bad
        with torch.inference_mode():
            old, new = (result[0] for result in both(slow, fast, 1, 2))
        assert old.isnan().all()
        assert new.isnan().all()


def test_a_copy_reads_its_own_weights():
    _, fast = quick(block(), Int8Linear)
    with torch.inference_mode():
        cache, x = state(1, 4, 2), torch.randn(1, 1, 20)
        before = fast(x, cache=cache.extended(1).layer(0))
        copied = copy.deepcopy(fast)
        fast.ffn.up.scale.zero_()
        assert torch.equal(copied(x, cache=cache.extended(1).layer(0)), before)
        assert not torch.equal(fast(x, cache=cache.extended(1).layer(0)), before)
