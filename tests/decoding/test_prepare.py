"""The prepared model is the model, int8 weights are near it, and a missing compiler changes no text."""

import copy
import random
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from glassformer import UserError
from glassformer.decoding import kernel as compiling
from glassformer.decoding import prepare
from glassformer.decoding.loop import Row, write
from glassformer.decoding.pace import Pace
from glassformer.decoding.prepare import Int8Linear, QuickLinear, int8, is_quick, prepared
from glassformer.decoding.quality import cost
from glassformer.decoding.samplers import Sampler
from glassformer.models import GPT, GPTConfig, Llama, LlamaConfig
from glassformer.nn.blocks import initialise

compiled = pytest.mark.skipif(compiling.kernel() is None, reason="no C compiler here")
SHAPES = {
    "rotary": {},
    "learned": {"positions": "learned", "norm": "layernorm", "bias": True, "activation": "gelu_tanh"},
    "relative": {"positions": "relative", "norm_order": "post", "activation": "swiglu", "n_kv_heads": 1},
    "sinusoidal": {"positions": "sinusoidal", "tie_embeddings": False, "dropout": 0.3},
    "llama": None,
}
MODELS = pytest.mark.parametrize("shape", SHAPES)
PROMPTS = [[7, 8, 9, 3, 1], [4], [2, 10, 0, 5, 6, 1, 1, 3], [9, 9, 2], list(range(13)), [1, 2]]


def make(shape="rotary", context=16):
    torch.manual_seed(0)
    if SHAPES[shape] is None:
        model = Llama(LlamaConfig(13, context, 2, 4, 2, 20, 6, 37, 1e-5, 1e4, bias=True, qk_norm=True))
    else:
        model = GPT(GPTConfig(13, context, 2, 2, d_model=20, **SHAPES[shape]))
    initialise(model, 1, std=0.4)
    return model.eval()


def written(model, prompts, n, **options):
    rows = [Row(list(prompt), random.Random(1)) for prompt in prompts]
    for active in write(model, rows, Sampler(0), n, **options):
        for i, row in enumerate(rows):
            row.done |= row in active and len(row.tokens) - len(prompts[i]) == 12 + 3 * i
    return [row.tokens for row in rows]


def without_compiler(monkeypatch):
    monkeypatch.setattr(prepare, "kernel", lambda: None)


@compiled
@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    n_in=st.integers(1, 150),
    n_out=st.integers(1, 40),
    shape=st.sampled_from([(), (1,), (1, 1), (2, 2), (3, 1), (0, 1)]),
    bias=st.booleans(),
    seed=st.integers(0, 9),
)
def test_the_kernel_is_the_linear_layer(n_in, n_out, shape, bias, seed):
    torch.manual_seed(seed)
    linear, x = nn.Linear(n_in, n_out, bias), torch.randn(*shape, n_in)
    smaller = Int8Linear(linear)
    full = smaller.weight * smaller.scale[:, None]
    with torch.inference_mode():
        quick = QuickLinear.of(linear)(x)
        assert quick.shape == (*shape, n_out)
        torch.testing.assert_close(quick, linear(x), atol=1e-5, rtol=1e-5)
        in_int8 = smaller(x)
        torch.testing.assert_close(in_int8, nn.functional.linear(x, full, linear.bias), atol=1e-5, rtol=1e-5)
        bound = smaller.scale / 2 * x.abs().sum(-1, keepdim=True) + 1e-5
        assert ((in_int8 - linear(x)).abs() <= bound).all()


@compiled
def test_gaps_infinities_and_nan_are_taken_as_they_are():
    linear = nn.Linear(6, 5)
    with torch.inference_mode():
        x = torch.randn(6, 3).T  # rows with gaps
        torch.testing.assert_close(QuickLinear.of(linear)(x), linear(x))
        for bad in (float("inf"), float("nan")):
            x = torch.ones(1, 6)
            x[0, 2] = bad
            out = QuickLinear.of(linear)(x)
            assert torch.equal(out.isnan(), linear(x).isnan())
            assert not out.isfinite().any()


def test_weights_of_zero_and_many_rows_in_int8():
    linear = nn.Linear(8, 3, bias=False)
    nn.init.zeros_(linear.weight)
    assert torch.equal(Int8Linear(linear)(torch.ones(99, 8)), torch.zeros(99, 3))


def test_many_rows_are_made_float32_slice_by_slice(monkeypatch):
    linear, x = nn.Linear(8, 13), torch.randn(20, 8)
    at_once = Int8Linear(linear)(x)
    monkeypatch.setattr(prepare, "SLICE", 40)
    torch.testing.assert_close(Int8Linear(linear)(x), at_once)


def test_gradients_and_other_types_go_through_pytorch():
    linear = nn.Linear(4, 3)
    QuickLinear.of(linear)(torch.ones(1, 4)).sum().backward()
    assert linear.weight.grad is not None
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        assert QuickLinear.of(linear)(torch.ones(1, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16


@compiled
@MODELS
def test_prepared_logits_are_the_models(shape):
    model, tokens = make(shape), torch.tensor([[1, 2, 3, 4, 5, 6]])
    quick = prepared(model)
    with torch.inference_mode():
        expected, _ = model(tokens)
        state, steps = quick.new_state(1), []
        for i in range(tokens.shape[1]):
            logits, state = quick(tokens[:, i : i + 1], state)
            steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), expected, atol=1e-5, rtol=1e-5)


@compiled
def test_preparing_copies_no_weight_and_changes_no_model():
    model = make("learned")
    names, kinds = dict(model.named_parameters()), [type(module) for module in model.modules()]
    quick = prepared(model)
    assert {name: id(weight) for name, weight in quick.named_parameters()} == {
        name: id(weight) for name, weight in names.items()
    }
    assert [type(module) for module in model.modules()] == kinds
    assert isinstance(quick.blocks[0].ffn.up, QuickLinear)
    assert quick.head.weight is model.embedding.weight
    assert type(quick) is GPT
    assert is_quick(quick, 4)
    assert not is_quick(quick, 5)
    assert not is_quick(model, 1)
    assert not is_quick(prepared(make().double()), 1)


@MODELS
@pytest.mark.parametrize("cache", [True, False])
def test_the_text_is_the_same_with_and_without_a_compiler(shape, cache, monkeypatch):
    """Six rows of unequal length in a batch that shrinks, past the context; then each alone."""
    model = make(shape)
    quick = written(model, PROMPTS, 30, cache=cache), [written(model, [p], 12) for p in PROMPTS]
    without_compiler(monkeypatch)
    assert quick == (written(model, PROMPTS, 30), [written(model, [p], 12) for p in PROMPTS])


@compiled
@MODELS
def test_int8_is_near_and_leaves_the_model_alone(shape):
    model = make(shape)
    before = copy.deepcopy(model.state_dict())
    smaller = int8(model)
    assert not smaller.training
    assert smaller.embedding.weight is model.embedding.weight
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])
    found = cost(model, smaller, PROMPTS[4])
    assert 0 < found.loss < 0.01
    assert 0 < found.largest < 0.5
    assert found.tokens == 13
    assert cost(model, model, PROMPTS[4] * 3) == type(found)(0.0, 16, 16, 0.0)
    assert written(smaller, PROMPTS, 20) == written(copy.deepcopy(smaller), PROMPTS, 20, cache=False)


def test_int8_is_refused_in_a_line_where_it_cannot_work(monkeypatch):
    if compiling.kernel() is not None:
        with pytest.raises(UserError, match=r"^int8 weights are for models in float32 on the CPU, .*float64"):
            int8(make().double())
    without_compiler(monkeypatch)
    with pytest.raises(UserError, match=r"^int8 weights need a C compiler"):
        int8(make())


@pytest.mark.parametrize("compiler", ["", "no-such-compiler", "false"])
def test_a_compiler_that_is_missing_or_fails_is_none(compiler, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiling.kernel.__wrapped__() is None
    assert list(tmp_path.rglob("*.so")) == []


@pytest.mark.parametrize("damage", ["a file in the way", "a damaged library"])
def test_a_cache_that_cannot_be_used_is_no_error(damage, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if damage == "a file in the way":
        (tmp_path / "glassformer").write_text("", encoding="utf-8")
        assert compiling.kernel.__wrapped__() is None
    elif compiling.kernel.__wrapped__() is not None:
        # In a process of its own: a library that is loaded must not change.
        library = next(tmp_path.rglob("*.so"))
        library.unlink()
        library.write_bytes(b"cut short")
        code = "from glassformer.decoding.kernel import kernel; assert kernel() is None"
        subprocess.run([sys.executable, "-c", code], check=True)


@compiled
def test_the_library_is_made_once_and_whole(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiling.kernel.__wrapped__() is not None
    (library,) = (tmp_path / "glassformer").iterdir()
    assert library.suffix == ".so"
    monkeypatch.setattr(subprocess, "run", None)  # nothing is compiled again
    assert compiling.kernel.__wrapped__() is not None


def test_threads_are_as_before_between_steps_and_after_an_interrupt():
    def stop():
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        for rows in (1, 9):
            with pytest.raises(KeyboardInterrupt):
                Pace(prepared(make())).step(stop, rows, 1)
            assert torch.get_num_threads() == 2
        if compiling.kernel() is not None:
            assert seen[0] == 1
        for _ in write(make(), [Row([1, 2, 3]) for _ in range(9)], Sampler(0), 5):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
