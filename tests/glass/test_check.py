"""The self-check: healthy models pass, and each way to be wrong is refused with its own reason."""

import pytest
import torch
from torch.nn import functional as F

from glassformer.errors import UserError
from glassformer.glass import check as module
from glassformer.glass import edits
from glassformer.glass.check import DAMAGED, check
from glassformer.nn import attention
from oracle import KINDS, TOKENS, make

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


class Spoilt:
    """A tap with a fault before it: one tensor is changed on the way, whether the tap wants it or not."""

    def __init__(self, tap, name, change):
        self.tap, self.name, self.change = tap, name, change
        self.wants = tap.wants

    def __call__(self, name, tensor):
        return self.tap(name, self.change(tensor) if name == self.name else tensor)


def spoil(monkeypatch, model, layer, name, change):
    healthy = model.blocks[layer].attention.forward
    monkeypatch.setattr(
        model.blocks[layer].attention,
        "forward",
        lambda x, *, tap, **options: healthy(x, tap=Spoilt(tap, name, change), **options),
    )


def refused(model, reason, tokens=TOKENS):
    with pytest.raises(UserError, match=f"^self-check: {reason}$") as caught:
        check(model, tokens)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens", [TOKENS, [3], torch.tensor([TOKENS, TOKENS[::-1]])], ids=["6", "1", "2x6"])
def test_healthy_models_pass(kind, dtype, tokens):
    model = make(kind, dtype, dropout=0.5).train()
    check(model, tokens)
    assert model.training


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_weights_that_do_not_sum_to_1(monkeypatch, layer, dtype):
    model = make(dtype=dtype)
    spoil(monkeypatch, model, layer, "weights", lambda weights: weights * 1.001)
    refused(model, f"a row of weights in layer {layer} misses its sum by 0.001")


@pytest.mark.parametrize(("factor", "error"), [(0, "1"), (0.5, "0.5"), (1 + 3e-5, "3e-05")])
def test_how_far_the_sum_is_off(monkeypatch, factor, error):
    model = make()
    spoil(monkeypatch, model, 0, "weights", lambda weights: weights * factor)
    refused(model, f"a row of weights in layer 0 misses its sum by {error}")


@pytest.mark.parametrize("layer", [0, 1])
def test_a_weight_on_a_masked_key(monkeypatch, layer):
    model = make()
    spoil(monkeypatch, model, layer, "weights", lambda weights: weights.flip(-1))
    refused(model, f"layer {layer} gives weight to keys that its mask forbids")


def test_the_least_weight_on_a_masked_key(monkeypatch):
    model = make()
    spoil(monkeypatch, model, 0, "weights", lambda weights: weights.clamp(min=1e-30))
    refused(model, "layer 0 gives weight to keys that its mask forbids")


def test_a_row_that_sees_nothing_has_to_be_0(monkeypatch):
    def blind(allowed):
        return allowed & (torch.arange(6) != 0)  # then the first query sees nothing

    model = make()
    spoil(monkeypatch, model, 1, "mask", blind)
    refused(model, r"a traced pass changes the logits by \S+")  # a row of 0 is right; such a mask is not
    spoil(monkeypatch, model, 1, "weights", lambda weights: weights + 1e-4 * (torch.arange(6) == 0))
    refused(model, "layer 1 gives weight to keys that its mask forbids")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers(monkeypatch, value):
    model = make()
    spoil(monkeypatch, model, 1, "weights", lambda weights: weights.masked_fill(weights == 1, value))
    refused(
        model,
        f"layer 1 has attention weights that are no numbers; {DAMAGED}",
    )


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        (
            "blocks.0.attention.query.weight",
            f"layer 0 has attention weights that are no numbers; {DAMAGED}",
        ),
        (
            "blocks.0.ffn.down.weight",
            f"layer 1 has attention weights that are no numbers; {DAMAGED}",
        ),
        (
            "blocks.1.ffn.down.weight",
            f"the model gives logits that are no numbers; {DAMAGED}",
        ),
        (
            "final_norm.weight",
            f"the model gives logits that are no numbers; {DAMAGED}",
        ),
    ],
)
def test_parameters_that_are_no_numbers(parameter, reason):
    model = make()
    model.get_parameter(parameter).data.flatten()[0] = torch.nan
    refused(model, reason)


def test_dropout_of_the_stream_left_on(monkeypatch):
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda self, x: F.dropout(x, 0.1))
    refused(make(), "two passes over the same text differ; something random is still on")


@pytest.mark.parametrize("path", ["_fused", "_reference"])
def test_dropout_of_attention_left_on(monkeypatch, path):
    healthy = getattr(attention, path)
    monkeypatch.setattr(attention, path, lambda *given: healthy(*given[:6], 0.5, *given[7:]))
    reasons = {"_fused": "two passes .* differ; .*", "_reference": "a traced pass changes the logits by .*"}
    refused(make(), reasons[path])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_looking_changes_the_result(monkeypatch, dtype):
    model = make(dtype=dtype)
    spoil(monkeypatch, model, 1, "scores", lambda scores: scores * 1.5)
    refused(model, r"a traced pass changes the logits by 0\.\d+")


def test_an_edit_of_nothing_changes_the_result(monkeypatch):
    monkeypatch.setattr(module, "noop", lambda layer: [edits.scale_value(layer, 0, 1.01)] if layer else [])
    refused(make(), r"an edit that changes nothing changes the logits by 0\.\d+")


def test_every_layer_and_tensor_gets_an_edit_of_nothing():
    touched = {case.name for layer in (0, 1) for case in edits.noop(layer)}
    names = ("v", "mask", "scores", "weights", "heads")
    assert touched == {f"blocks.{layer}.attention.{name}" for layer in (0, 1) for name in names}
