"""Traces: every name, only what was asked for, the numbers of the plain pass, and a model left as it was."""

import weakref

import numpy as np
import pytest
import torch

import glassformer
from glassformer.data.tokenizers import ByteTokenizer, CharTokenizer
from glassformer.glass import Recorder, trace
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

VARIANTS = [
    {},
    {"positions": "learned", "norm_order": "post", "norm": "layernorm", "bias": True},
    {"positions": "relative", "n_kv_heads": 2, "activation": "swiglu", "tie_embeddings": False},
    {"positions": "sinusoidal", "n_kv_heads": 1},
    {"positions": "none", "rotary_style": "interleaved"},
]
EVERY = pytest.mark.parametrize("changes", VARIANTS, ids=lambda changes: "-".join(map(str, changes.values())))
TOKENS = torch.tensor([[7, 8, 9, 3, 1, 4], [2, 2, 10, 0, 5, 6]])
WEIGHTS = "blocks.*.attention.weights"
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def make(**changes):
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, 16, 2, 4, d_model=16, **changes))
    initialise(model, 1, std=0.3)
    return model.eval()


@EVERY
def test_records_every_name_in_order_and_the_logits_of_the_plain_pass(changes):
    model = make(**changes)
    traced = trace(model, TOKENS)
    assert tuple(traced) == tuple(traced.tensors) == model.tap_names()
    torch.testing.assert_close(traced["logits"], model(TOKENS)[0], **CLOSE)
    torch.testing.assert_close(traced.probabilities.sum(-1), torch.ones(2, 6))
    torch.testing.assert_close(traced.probabilities, model(TOKENS)[0].softmax(-1), **CLOSE)


@EVERY
def test_weights_are_those_of_the_fused_pass(changes):
    model = make(**changes)
    slow, fast = trace(model, TOKENS, [WEIGHTS, "*.v"]), trace(model, TOKENS, ["*.heads", "logits"])
    assert (slow.attention, fast.attention) == ("reference", "fused")
    for i in range(2):
        weights, v = slow[f"blocks.{i}.attention.weights"], slow[f"blocks.{i}.attention.v"]
        assert weights.shape == (2, 4, 6, 6)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 6))
        assert torch.equal(weights.triu(1), torch.zeros_like(weights))
        heads = weights @ v.repeat_interleave(4 // v.shape[1], 1)
        torch.testing.assert_close(heads, fast[f"blocks.{i}.attention.heads"], **CLOSE)
        for head in range(4):
            assert torch.equal(slow.weights(i, head), weights[0, head])


def test_shapes_are_those_of_the_table():
    traced = trace(make(n_kv_heads=2, d_inner=24), TOKENS)
    shapes = {"input": (2, 6, 16), "middle": (2, 6, 16), "output": (2, 6, 16)}
    shapes |= {f"attention.{name}": (2, 4, 6, 4) for name in ("q", "heads")}
    shapes |= {f"attention.{name}": (2, 2, 6, 4) for name in ("k", "v")}
    shapes |= {f"attention.{name}": (2, 4, 6, 6) for name in ("mask", "scores", "weights")}
    shapes |= {"attention.output": (2, 6, 16), "ffn.inner": (2, 6, 24), "ffn.output": (2, 6, 16)}
    expected = {f"blocks.{i}.{name}": shape for i in range(2) for name, shape in shapes.items()}
    expected |= {"embedding": (2, 6, 16), "final": (2, 6, 16), "logits": (2, 6, 11)}
    assert {name: tuple(traced[name].shape) for name in traced} == expected


@pytest.mark.parametrize(
    ("names", "kept", "attention"),
    [
        ("logits", ["logits"], "fused"),
        (WEIGHTS, ["blocks.0.attention.weights", "blocks.1.attention.weights"], "reference"),
        (
            "blocks.1.*put",
            [f"blocks.1.{n}" for n in ("input", "attention.output", "ffn.output", "output")],
            "fused",
        ),
        ("blocks.?.middle", ["blocks.0.middle", "blocks.1.middle"], "fused"),
        ("blocks.[1-9].attention.[qk]", ["blocks.1.attention.q", "blocks.1.attention.k"], "fused"),
        (["final", "embedding", "final"], ["embedding", "final"], "fused"),
        (
            ["logits", "*.scores"],
            ["blocks.0.attention.scores", "blocks.1.attention.scores", "logits"],
            "reference",
        ),
        ([], [], "fused"),
    ],
)
def test_patterns_keep_what_fits_and_nothing_else(names, kept, attention):
    traced = trace(make(), TOKENS, names)
    assert list(traced) == kept
    assert traced.attention == attention


def test_what_was_not_asked_for_is_let_go():
    """Neither the recorder, which sees every tensor but unwanted scores, nor the model holds on to one."""
    seen = {}

    class Watching(Recorder):
        def at(self, path):
            return Watching(self.patterns, self.tensors, f"{self.path}{path}.")

        def __call__(self, name, tensor):
            seen[self.path + name] = weakref.ref(tensor)
            return super().__call__(name, tensor)

    model, tap = make(), Watching(("logits", WEIGHTS))
    with torch.no_grad():
        model(TOKENS, tap=tap)
    assert tuple(seen) == tuple(name for name in model.tap_names() if not name.endswith(("mask", "scores")))
    assert list(tap.tensors) == ["blocks.0.attention.weights", "blocks.1.attention.weights", "logits"]
    assert [name for name, tensor in seen.items() if tensor() is not None] == []


@pytest.mark.parametrize(
    ("pattern", "nearest"),
    [
        ("blocks.0.attention.wieghts", "blocks.0.attention.weights"),
        ("logit", "logits"),
        ("blocks.2.middle", "blocks.[01].middle"),
        ("LOGITS*", "logits"),
    ],
)
def test_a_pattern_that_fits_nothing_names_the_nearest(pattern, nearest):
    with pytest.raises(ValueError, match=nearest) as caught:
        trace(make(), TOKENS, ["logits", pattern])
    assert repr(pattern) in str(caught.value)


def test_a_name_that_was_not_recorded_is_a_key_error():
    with pytest.raises(KeyError, match=r"'logit'.*did you mean 'logits'"):
        trace(make(), TOKENS, "logits")["logit"]
    with pytest.raises(KeyError, match=r"blocks\.0\.attention\.weights"):
        trace(make(), TOKENS, "logits").weights(0, 0)


@pytest.mark.parametrize("training", [True, False])
def test_runs_without_dropout_and_leaves_the_mode_as_it_was(training):
    model = make(dropout=0.5).train(training)
    traced = trace(model, TOKENS)
    assert all(module.training is training for module in model.modules())
    torch.testing.assert_close(traced["logits"], make()(TOKENS)[0], **CLOSE)
    model.blocks[1].forward = None  # whatever fails on the way
    with pytest.raises(TypeError):
        trace(model, TOKENS)
    assert model.training is training


def test_keeps_no_gradient():
    traced = trace(make(), TOKENS)
    assert not any(traced[name].requires_grad or traced[name].grad_fn for name in traced)
    recorder = Recorder(("*",))
    logits, _ = make()(TOKENS, tap=recorder)
    assert logits.requires_grad
    assert not any(tensor.requires_grad for tensor in recorder.tensors.values())


@pytest.mark.parametrize("tokens", [[7, 8, 9], (7, 8, 9), np.array([7, 8, 9]), torch.tensor([7, 8, 9]).int()])
def test_one_text_is_a_batch_of_one(tokens):
    traced = trace(make(), tokens, "logits")
    assert traced.tokens.tolist() == [[7, 8, 9]]
    torch.testing.assert_close(traced["logits"], make()(TOKENS[:1, :3])[0], **CLOSE)


@pytest.mark.parametrize("tokenizer", [CharTokenizer("abcdefgh字"), ByteTokenizer()])
def test_takes_what_a_tokenizer_gives(tokenizer):
    model = GPT(GPTConfig(tokenizer.vocab_size, 8, 1, 1, d_model=4))
    ids = tokenizer.encode("a字")
    assert glassformer.trace(model, ids, "final")["final"].shape == (1, len(ids), 4)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("text", "reads token ids, not a text"),
        ([], "at least one"),
        ([[[1]]], "not of shape"),
        ([3, 11], "ids must lie in 0 … 10; these go from 3 to 11"),
        ([1.9], "whole numbers"),
        ([-1], "these go from -1 to -1"),
    ],
)
def test_what_is_no_row_of_ids_is_refused(tokens, message):
    with pytest.raises(ValueError, match=message):
        trace(make(), tokens)


def test_is_a_mapping_of_names_to_tensors():
    traced = trace(make(), TOKENS, WEIGHTS)
    assert len(traced) == 2
    assert list(traced.keys()) == [name for name, _ in traced.items()] == list(traced)
    assert traced.get("logits") is None
    assert "blocks.0.attention.weights" in traced
