"""Two passes side by side, and what the model would say after each block, against numpy."""

import numpy as np
import pytest
import torch

from glassformer.glass import trace
from glassformer.glass.compare import compare, lens
from glassformer.glass.edits import cut, noop, scale_value, silence
from oracle import KINDS, TOKENS, log_softmax, make, passed, put, shared

EVERY = pytest.mark.parametrize("kind", KINDS)
OURS = [cut(1, 2, edges=[(4, 0)]), silence(1, 3), scale_value(2, 4, 2.0)]
THEIRS = [
    ("blocks.1.attention.scores", put((2, 4, 0), -np.inf)),
    ("blocks.1.attention.heads", put(3, 0)),
    ("blocks.2.attention.v", lambda v: put((slice(None), 4), 2 * v[:, 4])(v)),
]
LAYERS = [f"blocks.{i}.output" for i in range(3)]


@EVERY
@pytest.mark.parametrize(("position", "target"), [(-1, None), (4, None), (4, 10), (2, 0)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["64", "32"])
def test_the_numbers_are_those_of_two_passes(kind, position, target, dtype):
    model = shared(kind, dtype, n_layers=3)
    compared = compare(model, TOKENS, OURS, target=target, position=position)
    plain, edited = passed(model, TOKENS), passed(model, TOKENS, THEIRS)
    before, after = plain["logits"][position], edited["logits"][position]
    target = before.argmax() if target is None else target
    tolerance = {"abs": 1e-10 if dtype == torch.float64 else 1e-5}
    assert compared.target == target
    assert compared.position == position
    assert compared.said == tuple(edit.said for edit in OURS)
    assert compared.logits == pytest.approx(np.abs(after - before).max(), **tolerance)
    assert compared.plain_log_probability == pytest.approx(log_softmax(before)[target], **tolerance)
    change = log_softmax(after)[target] - log_softmax(before)[target]
    assert compared.log_probability == pytest.approx(change, **tolerance)
    lengths = [
        np.sqrt(((edited[name] - plain[name]) ** 2).sum() / (plain[name] ** 2).sum()) for name in LAYERS
    ]
    assert compared.layers == pytest.approx(lengths, **tolerance)


@EVERY
def test_what_lies_before_an_edit_is_unchanged_to_the_bit(kind):
    model = make(kind, n_layers=3)
    for layer in range(3):
        compared = compare(model, TOKENS, [silence(layer, 0)])
        assert compared.layers[:layer] == (0.0,) * layer
        assert min(compared.layers[layer:]) > 1e-4
    assert compare(model, TOKENS, [silence(2, 0), *noop(0)]).layers[1] < 1e-6  # other path, same numbers
    earlier = compare(model, TOKENS, [cut(0, edges=[(4, 1)])], position=3)
    assert earlier.logits < 1e-5 < compare(model, TOKENS, [cut(0, edges=[(4, 1)])], position=4).logits


def test_no_edits_no_change():
    compared = compare(make(), TOKENS, [])
    assert (compared.said, compared.logits, compared.log_probability) == ((), 0.0, 0.0)
    assert compared.layers == (0.0, 0.0)


def test_layers_are_as_exact_as_the_tensors_are():
    model = make(dtype=torch.bfloat16, n_layers=3)
    plain, edited = (trace(model, TOKENS, LAYERS, edits=edits) for edits in ([], OURS))
    pairs = [(plain[name].double().numpy(), edited[name].double().numpy()) for name in LAYERS]
    expected = [np.linalg.norm(after - before) / np.linalg.norm(before) for before, after in pairs]
    assert compare(model, TOKENS, OURS).layers == pytest.approx(expected, rel=1e-12)


@EVERY
def test_lens_is_norm_and_head_after_each_block(kind):
    model = make(kind, n_layers=3)
    seen, ours = passed(model, TOKENS), lens(model, TOKENS)
    w = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    assert ours.shape == (3, 6, 11)
    for i, name in enumerate(LAYERS):
        x = seen[name]
        if model.config.norm_order == "pre":
            x = x - x.mean(-1, keepdims=True) if model.config.norm == "layernorm" else x
            x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
            x = x * w["final_norm.weight"] + w.get("final_norm.bias", 0)
        expected = np.exp(log_softmax(x @ w["head.weight"].T))
        np.testing.assert_allclose(ours[i].numpy(), expected, atol=1e-5)


@EVERY
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-6), (torch.bfloat16, 1e-2)])
def test_lens_ends_in_what_the_model_says(kind, dtype, atol):
    model = make(kind, dtype)
    ours = lens(model, TOKENS)
    said = trace(model, TOKENS, "logits").probabilities[0]
    torch.testing.assert_close(ours[-1], said, atol=atol, rtol=0)
    assert not torch.allclose(ours[0], said, atol=5 * atol)
    assert ours.dtype == torch.float32
    assert not ours.requires_grad
    torch.testing.assert_close(ours.sum(-1), torch.ones(2, 6))
