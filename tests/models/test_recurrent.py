"""A recurrent language model: chunks, padding and taps change nothing, and nothing has an end."""

import pytest
import torch

from glassformer import UserError, config
from glassformer.models import FAMILIES, GPT, GPTConfig, LanguageModel, RecurrentConfig, RecurrentLM
from glassformer.models.cost import cost
from glassformer.models.describe import figures, table
from glassformer.models.presets import PRESETS, RECURRENT_PRESETS
from glassformer.nn.recurrent import INSIDE

KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
TOKENS = torch.tensor([[7, 8, 9, 3, 1, 4], [2, 2, 10, 0, 5, 6]])
EXACT = {"atol": 1e-9, "rtol": 1e-9}


def make(kind="lstm", **changes):
    """In float64 and with weights so large that the logits are far apart."""
    torch.manual_seed(0)
    shape = {"vocab_size": 11, "context": 4, "n_layers": 2, "d_model": 8}
    model = RecurrentLM(RecurrentConfig(kind=kind, **(shape | changes)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.double().eval().requires_grad_(False)


class Tap:
    def __init__(self, seen=None, path="", change=None):
        self.seen, self.path, self.change = {} if seen is None else seen, path, change

    def __call__(self, name, tensor):
        name = self.path + name
        self.seen[name] = tensor
        return 2 * tensor + 1 if name == self.change else tensor

    def at(self, path):
        return Tap(self.seen, f"{self.path}{path}.", self.change)

    def wants(self, name):
        return True


def splits(n):
    yield from ([size, *rest] for size in range(1, n) for rest in splits(n - size))
    yield [n]


def in_chunks(model, tokens, sizes, state):
    pieces = []
    for chunk in tokens.split(sizes, 1):
        logits, state = model(chunk, state)
        pieces.append(logits)
    return torch.cat(pieces, 1), state


@KINDS
def test_carried_equals_at_once_for_every_split(kind):
    model = make(kind)
    whole, none = model(TOKENS)
    assert none is None
    for sizes in splits(6):
        logits, state = in_chunks(model, TOKENS, sizes, model.new_state(2))
        torch.testing.assert_close(logits, whole, **EXACT)
        assert state.length == 6
    torch.testing.assert_close(model(TOKENS, last_only=True)[0], whole[:, -1:], **EXACT)
    torch.testing.assert_close(model(TOKENS, backend="reference")[0], whole, **EXACT)


@KINDS
@pytest.mark.parametrize("left", [True, False])
def test_padding_changes_nothing(kind, left):
    model, pads = make(kind), torch.full((1, 3), 5)
    short = torch.cat((pads, TOKENS[:1, :3]) if left else (TOKENS[:1, :3], pads), 1)
    real = slice(3, 6) if left else slice(0, 3)
    valid = torch.zeros(3, 6, dtype=torch.bool)
    valid[0, real] = valid[1] = True
    tokens = torch.cat((short, TOKENS[1:], TOKENS[1:]))
    logits, state = model(tokens, model.new_state(3), valid_bn=valid)
    assert logits.isfinite().all()
    torch.testing.assert_close(model(tokens, valid_bn=valid)[0], logits, **EXACT)
    torch.testing.assert_close(logits[:1, real], model(TOKENS[:1, :3])[0], **EXACT)
    torch.testing.assert_close(logits[1:2], model(TOKENS[1:])[0], **EXACT)
    more, _ = in_chunks(model, TOKENS[[0, 1, 1], 3:], [1, 2], state)
    torch.testing.assert_close(more[:1], model(TOKENS[:1])[0][:, 3:], **EXACT)
    torch.testing.assert_close(more[2:], model(TOKENS[1:, 3:])[0], **EXACT)  # read nothing before


@KINDS
def test_two_continuations_of_one_state_do_not_meet_and_rows_can_be_chosen(kind):
    model, rows = make(kind), torch.tensor([1, 1, 0])
    _, state = model(TOKENS[:, :3], model.new_state(2))
    whole = model(TOKENS)[0][:, 3:]
    for _ in range(2):
        model(TOKENS.flip(1)[:, 3:], state)
        torch.testing.assert_close(model(TOKENS[:, 3:], state)[0], whole, **EXACT)
    chosen, _ = model(TOKENS[rows, 3:], state.reorder(rows))
    torch.testing.assert_close(chosen, whole[rows], **EXACT)


@KINDS
def test_later_tokens_never_alter_earlier_logits_and_the_first_is_never_forgotten(kind):
    model, before = make(kind), make(kind)(TOKENS)[0]
    for i in range(6):
        after = model(torch.cat((TOKENS[:, :i], (TOKENS[:, i:] + 1) % 11), 1))[0]
        torch.testing.assert_close(after[:, :i], before[:, :i], **EXACT)
    changed = TOKENS.clone()
    changed[:, 0] = (changed[:, 0] + 1) % 11
    assert ((model(changed)[0] - before).abs().amax(-1) > 1e-6).all()  # beyond the context of 4 too


@KINDS
def test_taps_see_what_is_listed_and_change_nothing(kind):
    model, tap = make(kind), Tap()
    torch.testing.assert_close(model(TOKENS, tap=tap)[0], model(TOKENS)[0], **EXACT)
    assert tuple(tap.seen) == model.tap_names()
    inside = [f"blocks.{i}.{name}" for i in range(2) for name in ("input", *INSIDE[kind], "output")]
    assert model.tap_names() == ("embedding", *inside, "final", "logits")
    assert all(tensor.shape[:2] == (2, 6) for tensor in tap.seen.values())


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in INSIDE for name in make(kind).tap_names()]
)
def test_what_a_tap_returns_goes_on(kind, name):
    model = make(kind)
    changed, _ = model(TOKENS, tap=Tap(change=name))
    assert (changed - model(TOKENS)[0]).abs().max() > 1e-2


@KINDS
@pytest.mark.parametrize("tie", [True, False])
def test_what_it_costs_is_counted_from_its_matrices(kind, tie):
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[kind]
    model = make(kind, tie_embeddings=tie)
    costs = cost(model)
    matrices = 2 * gates * 2 * 8 * 8
    assert costs.parameters["recurrent"] == matrices + 2 * gates * 2 * 8
    assert costs.parameters["embedding"] == 11 * 8
    assert costs.parameters["head"] == (0 if tie else 11 * 8)
    assert costs.total == sum(p.numel() for p in model.parameters())
    assert costs.operations == 2 * (matrices + 11 * 8)
    assert costs.attention_operations == 0
    assert costs.state_bytes == (2 if kind == "lstm" else 1) * 2 * 8 * 8  # however long the text
    _, state = model(TOKENS.repeat(1, 5), model.new_state(2))
    assert sum(part.nbytes for part in state.parts) == 2 * costs.state_bytes
    assert figures(model)["config"]["kind"] == kind
    assert f"{costs.state_bytes:,} bytes of state after any text" in table(model)


def test_it_is_a_language_model_without_a_window():
    model = make()
    assert isinstance(model, LanguageModel)
    assert model.window is None
    assert GPT(GPTConfig(11, context=8)).window == 8
    assert FAMILIES["recurrent"] == (RecurrentConfig, RecurrentLM)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "elman"}, "kind"),
        ({"d_model": 0}, "d_model must be at least 1"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\)"),
        ({"n_heads": 2}, "n_heads"),
    ],
)
def test_a_shape_without_meaning_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        config.from_dict(RecurrentConfig, {"vocab_size": 11, **changes})


@KINDS
def test_states_and_marks_must_fit_the_tokens(kind):
    model = make(kind)
    with pytest.raises(ValueError, match="the state must be"):
        model(TOKENS[:1], model.new_state(2))
    with pytest.raises(ValueError, match="valid_bn must mark each of the 2 x 6"):
        model(TOKENS, valid_bn=torch.ones(2, 7, dtype=torch.bool))


def test_dropout_only_while_training():
    model = make(dropout=0.5)
    assert torch.equal(model(TOKENS)[0], model(TOKENS)[0])
    torch.testing.assert_close(model(TOKENS)[0], make()(TOKENS)[0], **EXACT)
    assert not torch.equal(model.train()(TOKENS)[0], model(TOKENS)[0])


@KINDS
def test_presets_are_a_little_smaller_than_the_gpt_of_the_name(kind):
    for name, preset in PRESETS.items():
        with torch.device("meta"):
            gpt, recurrent = GPT(preset(300)), RecurrentLM(RECURRENT_PRESETS[name](300, kind))
        sizes = [sum(p.numel() for p in model.blocks.parameters()) for model in (recurrent, gpt)]
        assert sizes[0] < sizes[1]
        assert kind != "lstm" or sizes[0] > 0.7 * sizes[1]
