"""An encoder-decoder: padding changes nothing, steps are the whole, the state before the step is scored."""

import pytest
import torch

from glassformer.glass.edits import Chain, Edit, Editor
from glassformer.glass.trace import Recorder
from glassformer.models import FAMILIES, Seq2Seq, Seq2SeqConfig
from glassformer.nn.recurrent import INSIDE, RecurrentLayer

EACH = pytest.mark.parametrize(
    ("kind", "attention"),
    [(kind, score) for kind in ("lstm", "gru") for score in ("none", "additive", "dot", "general")],
)
SOURCE = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 0]])
VALID = torch.tensor([[True] * 5, [True, True, True, False, False]])
TARGET = torch.tensor([[9, 2, 7, 1], [9, 8, 2, 8]])


def make(kind="gru", attention="additive", **changes):
    """In float64 and with weights so large that the logits are far apart."""
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig(10, kind, attention, d_model=8, **{"n_layers": 2, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.double().eval()


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


@EACH
def test_padding_and_its_place_and_its_tokens_change_nothing(kind, attention):
    model = make(kind, attention)
    logits = model(SOURCE, VALID, TARGET)
    close(model(SOURCE[1:, :3], None, TARGET[1:]), logits[1:])
    other = SOURCE.clone()
    other[1, 3:] = 7
    close(model(other, VALID, TARGET), logits)
    wide = torch.cat((torch.full((2, 3), 4), SOURCE, torch.full((2, 2), 6)), 1)
    seen = torch.cat((torch.zeros(2, 3), VALID, torch.zeros(2, 2)), 1).bool()
    close(model(wide, seen, TARGET), logits)


@EACH
def test_step_by_step_and_reordered_is_the_whole(kind, attention):
    model = make(kind, attention)
    whole = model(SOURCE, VALID, TARGET)
    state = model.encode(SOURCE, VALID)
    pieces = []
    for t in range(TARGET.shape[1]):
        logits, state = model.decode(TARGET[:, t : t + 1], state)
        pieces.append(logits)
    close(torch.cat(pieces, 1), whole)
    assert (state.length, state.batch) == (4, 2)
    begun = model.encode(SOURCE, VALID).reorder(torch.tensor([1, 0, 1]))
    close(model.decode(TARGET[[1, 0, 1]], begun)[0], whole[[1, 0, 1]])


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_score_is_of_the_state_before_the_step(kind):
    model = make(kind)
    tap = Recorder(("*",))
    model(SOURCE, VALID, TARGET, tap=tap)
    weights = tap.tensors["attention.weights"]
    assert weights.shape == (2, 4, 5)
    close(weights.sum(-1), torch.ones(2, 4).double())
    assert not weights[1, :, 3:].any()
    state = model.encode(SOURCE, VALID)
    for t in range(4):
        _, expected = model.attention(state.hidden.hidden[-1], state.memory, VALID)
        close(weights[:, t], expected)
        _, state = model.decode(TARGET[:, t : t + 1], state)


@EACH
def test_every_name_is_handed_to_the_tap(kind, attention):
    model = make(kind, attention)
    tap = Recorder(("*",))
    model(SOURCE, VALID, TARGET, tap=tap)
    assert tuple(tap.tensors) == model.tap_names()


@EACH
def test_gates_and_states_of_both_sides_are_those_of_the_pass(kind, attention):
    model = make(kind, attention)
    tap = Recorder(("*",))
    model(SOURCE, VALID, TARGET, tap=tap)
    seen = tap.tensors
    for name in INSIDE[kind]:
        assert (
            seen[f"encoder.blocks.1.{name}"].shape
            == seen[f"encoder.blocks.1.reverse.{name}"].shape
            == (2, 5, 4)
        )
        assert seen[f"decoder.blocks.1.{name}"].shape == (2, 4, 8)
    ways = (seen["encoder.blocks.1.hidden"], seen["encoder.blocks.1.reverse.hidden"])
    close(seen["memory"], torch.cat(ways, -1).masked_fill(~VALID[..., None], 0))
    close(seen["state"], seen["decoder.blocks.1.hidden"])
    begun = model.encode(SOURCE, VALID).hidden
    for i in range(2):
        inside = {name: seen[f"decoder.blocks.{i}.{name}"] for name in INSIDE[kind]}
        start = begun.hidden if kind == "gru" else begun.cell
        values = inside["hidden" if kind == "gru" else "cell"]
        before = torch.cat((start[i][:, None], values[:, :-1]), 1)
        if kind == "gru":
            close(values, (1 - inside["z"]) * inside["n"] + inside["z"] * before)
        else:
            close(values, inside["f"] * before + inside["i"] * inside["candidate"])
            close(inside["hidden"], inside["o"] * values.tanh())


@EACH
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_an_edit_inside_is_felt_from_its_step_on(kind, attention, side):
    model = make(kind, attention)

    def shifted(values):
        values = values.clone()
        values[:, 2] += 1
        return values

    def run(*edits):
        tap = Recorder(("*",))
        model(SOURCE, None, TARGET, tap=Chain((Editor(edits), tap)))
        return tap.tensors

    name = "candidate" if kind == "lstm" else "n"
    plain, edited = run(), run(Edit(f"{side}.blocks.0.{name}", shifted, "more at 2"))
    change = {key: (plain[key] - edited[key]).abs().amax((0, 2)) for key in plain}
    hidden = change[f"{side}.blocks.0.hidden"]
    assert not hidden[:2].any()
    assert hidden[2:].all()
    assert change["logits"][2:].all()
    assert bool(change["logits"][:2].any()) == (side == "encoder")


@EACH
def test_without_a_tap_nothing_leaves_the_kernel(kind, attention, monkeypatch):
    def refused(*given):
        raise AssertionError("the reference path was taken")

    model = make(kind, attention)
    monkeypatch.setattr(RecurrentLayer, "_reference", refused)
    plain = model(SOURCE, VALID, TARGET)
    tap = Recorder(("attention.weights", "*.output", "state"))
    assert torch.equal(model(SOURCE, VALID, TARGET, tap=tap), plain)


class Even:
    """A tap that reads all source tokens alike."""

    def __init__(self, path=""):
        self.path = path

    def at(self, path):
        return Even(f"{self.path}{path}.")

    def wants(self, name):
        return self.path + name == "attention.weights"

    def __call__(self, name, tensor):
        return torch.full_like(tensor, 0.2) if self.wants(name) else tensor


def test_an_edit_of_the_weights_is_felt():
    model = make()
    with torch.no_grad():
        edited = model(SOURCE, None, TARGET, tap=Even())
        model.attention.v.weight.zero_()
        close(model(SOURCE, None, TARGET), edited)


@EACH
def test_gradients_reach_every_parameter(kind, attention):
    model = make(kind, attention).train()
    model(SOURCE, VALID, TARGET).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_gradients_are_those_of_differences():
    model = make(n_layers=1)

    def loss(weight):
        with_it = {"attention.of_memory.weight": weight}
        return torch.func.functional_call(model, with_it, (SOURCE, VALID, TARGET)).square().mean()

    weight = model.attention.of_memory.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, [weight])


def test_a_shape_that_cannot_be_is_refused():
    for wrong, match in (
        ({"d_model": 7}, "even"),
        ({"dropout": 1.0}, "dropout"),
        ({"attention": "self"}, "attention must be"),
        ({"kind": "rnn"}, "kind must be"),
        ({"vocab_size": 0}, "vocab_size"),
    ):
        with pytest.raises(ValueError, match=match):
            Seq2SeqConfig(**{"vocab_size": 10, **wrong})
    assert FAMILIES["seq2seq"] == (Seq2SeqConfig, Seq2Seq)
