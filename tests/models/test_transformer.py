"""An encoder-decoder Transformer: padding changes nothing, pieces are the whole, taps see and change all."""

import dataclasses
import importlib.util
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from glassformer.decoding.translate import search
from glassformer.glass.edits import Chain
from glassformer.glass.trace import Recorder
from glassformer.models import FAMILIES, Transformer, TransformerConfig
from glassformer.nn.positions import sinusoids

OLD = {
    "norm": "layernorm",
    "norm_order": "post",
    "positions": "sinusoidal",
    "activation": "relu",
    "bias": True,
}
KINDS = {
    "2017": OLD,
    "today": {},
    "deep": {"n_layers": 1, "n_decoder_layers": 3, "activation": "geglu", "positions": "relative"},
    "halves": {**OLD, "positions": "sinusoidal_halves", "head_bias": True, "activation": "silu"},
    "learned": {**OLD, "positions": "learned", "context": 12, "scale_embeddings": False},
    "rotary": {"positions": "rotary"},
    "none": {"positions": "none", "tie_embeddings": False, "scale_embeddings": False},
}
EACH = pytest.mark.parametrize("kind", KINDS)
SOURCE = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 0]])
VALID = torch.tensor([[True] * 5, [True, True, True, False, False]])
TARGET = torch.tensor([[9, 2, 7, 1], [9, 8, 2, 8]])


VOCABULARY = "c C ( ) 1 O 2 = N 3 n 4 F - [C@H] [C@@H] Cl / S [nH] 5 o s [C@] # [C@@] Br"


def make(kind="today", **changes):
    """In float64, and with weights so large that the logits are far apart."""
    torch.manual_seed(0)
    settings = {"n_layers": 2, "n_heads": 2, "d_model": 8} | KINDS[kind] | changes
    model = Transformer(TransformerConfig(10, **settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            nn.init.normal_(parameter, float("norm.weight" in name), 0.4)
    return model.double().eval().requires_grad_(False)


def close(one, other):
    torch.testing.assert_close(one, other, atol=1e-11, rtol=1e-11)


@EACH
def test_padding_its_place_and_its_tokens_change_nothing(kind):
    model = make(kind)
    logits = model(SOURCE, VALID, TARGET)
    close(model(SOURCE[1:, :3], None, TARGET[1:]), logits[1:])
    other = SOURCE.clone()
    other[1, 3:] = 7
    close(model(other, VALID, TARGET), logits)
    wide = torch.cat((torch.full((2, 3), 4), SOURCE, torch.full((2, 2), 6)), 1)
    seen = torch.cat((torch.zeros(2, 3), VALID, torch.zeros(2, 2)), 1).bool()
    close(model(wide, seen, TARGET), logits)
    tap = Recorder(("*.weights",))
    model(wide, seen, TARGET, tap=tap)
    for name, weights in tap.tensors.items():
        if name.startswith("encoder") or "cross" in name:
            assert not weights.masked_select(~seen[:, None, None, :]).any(), name


@EACH
@pytest.mark.parametrize("cuts", [[1, 1, 1, 1], [3, 1], [2, 2], [4]])
def test_pieces_are_the_whole_and_an_old_state_stays_good(kind, cuts):
    model = make(kind)
    whole = model(SOURCE, VALID, TARGET)
    state = model.encode(SOURCE, VALID)
    pieces, states = [], []
    for part in TARGET.split(cuts, 1):
        states.append((state, part))
        logits, state = model.decode(part, state)
        pieces.append(logits)
    close(torch.cat(pieces, 1), whole)
    assert (state.length, state.batch) == (4, 2)
    for (before, part), logits in zip(states, pieces, strict=True):
        close(model.decode(part, before)[0], logits)


@EACH
def test_a_state_is_reordered_with_all_that_it_read(kind):
    model = make(kind)
    whole = model(SOURCE, VALID, TARGET)
    _, state = model.decode(TARGET[:, :2], model.encode(SOURCE, VALID))
    rows = torch.tensor([1, 0, 1])
    close(model.decode(TARGET[rows, 2:], state.reorder(rows))[0], whole[rows, 2:])
    alone = model.encode(SOURCE[:1]).reorder(torch.tensor([0, 0]))
    assert alone.valid is None
    close(model.decode(TARGET[[0, 0]], alone)[0], whole[[0, 0]])


@EACH
def test_a_target_sees_nothing_of_what_follows(kind):
    model = make(kind)
    later = TARGET.clone()
    later[:, 2:] = 3
    close(model(SOURCE, VALID, later)[:, :2], model(SOURCE, VALID, TARGET)[:, :2])


def test_keys_and_values_of_the_source_are_made_once():
    model = make()
    state = model.encode(SOURCE, VALID)
    _, after = model.decode(TARGET[:, :1], state)
    assert all(one is other for one, other in zip(state.memory, after.memory, strict=True))
    for block in model.decoder.blocks:  # and are all that is asked for
        block.cross.key = block.cross.value = None
    model.decode(TARGET[:, :1], state)


@EACH
def test_every_name_is_handed_to_the_tap_in_order(kind):
    model = make(kind)
    tap = Recorder(("*",))
    logits = model(SOURCE, VALID, TARGET, tap=tap)
    assert tuple(tap.tensors) == model.tap_names()
    close(tap.tensors["logits"], logits)
    last = model.config.decoder_layers - 1
    assert tap.tensors["encoder.blocks.0.attention.weights"].shape == (2, 2, 5, 5)
    assert tap.tensors[f"decoder.blocks.{last}.attention.weights"].shape == (2, 2, 4, 4)
    cross = tap.tensors[f"decoder.blocks.{last}.cross.weights"]
    assert cross.shape == (2, 2, 4, 5)
    close(cross.sum(-1), torch.ones(2, 2, 4).double())
    stepwise, state = Recorder(("*",)), model.encode(SOURCE, VALID)
    model.decode(TARGET[:, :3], state, tap=stepwise)
    close(stepwise.tensors[f"decoder.blocks.{last}.cross.k"], tap.tensors[f"decoder.blocks.{last}.cross.k"])


class Put:
    """A tap that fills the tensor of one name."""

    def __init__(self, name, value, path=""):
        self.name, self.value, self.path = name, value, path

    def at(self, path):
        return Put(self.name, self.value, f"{self.path}{path}.")

    def wants(self, name):
        return self.path + name == self.name

    def __call__(self, name, tensor):
        return torch.full_like(tensor, self.value) if self.wants(name) else tensor


@pytest.mark.parametrize("kind", ["2017", "today"])
def test_what_a_tap_changes_is_felt_after_it_and_nowhere_before(kind):
    model = make(kind)
    names = model.tap_names()
    plain = Recorder(("*",))
    model(SOURCE, VALID, TARGET, tap=plain)
    for i, name in enumerate(names):
        if name.endswith(("mask", "scores")):
            continue
        tap = Recorder(("*",))
        model(SOURCE, VALID, TARGET, tap=Chain((Put(name, 0.3), tap)))
        assert all(torch.equal(tap.tensors[before], plain.tensors[before]) for before in names[:i])
        assert not torch.equal(tap.tensors["logits"], plain.tensors["logits"]), name


def test_2017_by_its_own_formulas():
    """One layer of each stack, one head, written out: x ← LN(x + f(x)), FFN(x) = ReLU(xW₁)W₂."""
    model = make("2017", n_layers=1, n_heads=1)
    weights = dict(model.named_parameters())

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attention(name, x, memory, causal):
        scores = linear(f"{name}.query", x) @ linear(f"{name}.key", memory).T / math.sqrt(8)
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        return linear(f"{name}.output", scores.softmax(-1) @ linear(f"{name}.value", memory))

    def stack(at, x, memory):
        x = norm(f"{at}.attention_norm", x + attention(f"{at}.attention", x, x, memory is not None))
        if memory is not None:
            x = norm(f"{at}.cross_norm", x + attention(f"{at}.cross", x, memory, False))
        inner = linear(f"{at}.ffn.up", x).relu()
        return norm(f"{at}.ffn_norm", x + linear(f"{at}.ffn.down", inner))

    def embedded(ids):
        return weights["embedding.weight"][ids] * math.sqrt(8) + sinusoids(torch.arange(len(ids)), 8)

    memory = stack("encoder.blocks.0", embedded(SOURCE[0]), None)
    x = stack("decoder.blocks.0", embedded(TARGET[0]), memory)
    close(model(SOURCE[:1], None, TARGET[:1])[0], x @ weights["embedding.weight"].T)


@EACH
def test_gradients_reach_every_parameter(kind):
    model = make(kind).train().requires_grad_()
    model(SOURCE, VALID, TARGET).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any() or name.endswith("key.bias"), name  # which moves a row as a whole


def test_what_does_not_fit_is_refused():
    model = make()
    with pytest.raises(ValueError, match=r"valid_bm must mark each of the 2 x 5 tokens, not \(2, 4\)"):
        model(SOURCE, VALID[:, :4], TARGET)
    with pytest.raises(ValueError, match="the state holds 2 rows, the target 1"):
        model.decode(TARGET[:1], model.encode(SOURCE, VALID))
    learned, long = make("learned"), torch.ones(1, 13, dtype=torch.long)
    assert (learned.longest, model.longest) == (12, None)
    for source, target in ((long, TARGET[:1]), (SOURCE[:1], long)):
        with pytest.raises(ValueError, match="position 12 lies past the learned table of 12 positions"):
            learned(source, None, target)
    model.requires_grad_()
    with pytest.raises(RuntimeError, match="for running a model, not for training it"):
        model.decode(TARGET, model.encode(SOURCE, VALID))


@pytest.mark.parametrize(
    ("text", "log_p"),
    [
        ("C C ( = O ) O c 1 c c c c c 1 C ( = O ) O", -3.5461793466748905),
        ("Cl c 1 c c c ( Br ) c c 1", -3.0436582270463743),
        ("C [C@H] ( N ) C ( = O ) O", -2.2951475327218582),
    ],
)
def test_published_weights_write_what_their_package_writes(text, log_p):
    """annalog: a post-norm Transformer that writes analogues of molecules, whose greedy one is often the same
    molecule; log p as its own program has it. Its two tables of embeddings stand here one below the other."""
    package = importlib.util.find_spec("annalog")  # not imported: it would ask for chemistry
    if package is None or not package.submodule_search_locations:
        pytest.skip("pip install --no-deps annalog==1.0.6 brings the weights")
    path = Path(package.submodule_search_locations[0]) / "ckpt_and_vocab" / "Lev_extended.pt"
    theirs = torch.load(path, map_location="cpu", weights_only=True)
    n = len(theirs["encoder.tok_embedding.weight"])
    parts = {"self_attention.fc": "attention", "encoder_attention.fc": "cross"}
    letters = {"q": "query", "k": "key", "v": "value", "o": "output"}
    renamed = {
        f"{part}_{letter}": f"{ours}.{name}"
        for part, ours in parts.items()
        for letter, name in letters.items()
    }
    renamed |= {
        "tok_embedding": "embedding",
        "pos_embedding": "positions.table",
        "layers": "blocks",
        "self_attn_layer_norm": "attention_norm",
        "enc_attn_layer_norm": "cross_norm",
        "ff_layer_norm": "ffn_norm",
        "positionwise_feedforward.fc_1": "ffn.up",
        "positionwise_feedforward.fc_2": "ffn.down",
        "decoder.fc_out": "head",
    }
    weights = {}
    for name, tensor in theirs.items():
        for before, after in renamed.items():
            name = name.replace(before, after)
        weights[name] = tensor
    weights["embedding.weight"] = torch.cat(
        [weights.pop(f"{side}.embedding.weight") for side in ("encoder", "decoder")]
    )
    weights["head.weight"] = torch.cat((torch.zeros(n, 256), weights["head.weight"]))
    weights["head.bias"] = torch.cat((torch.full((n,), -1e9), weights["head.bias"]))
    shape = {**OLD, "context": 102, "n_heads": 8, "d_inner": 512, "positions": "learned"}
    model = Transformer(TransformerConfig(2 * n, **shape, tie_embeddings=False, head_bias=True))
    model.load_state_dict(weights)
    start, end = 2, 3
    ids = [VOCABULARY.split().index(token) + 4 for token in text.split()]
    [[best]] = search(model.eval(), [[start, *ids, end]], n + start, n + end)
    assert best.ids == [n + token for token in ids]
    assert best.log_p == pytest.approx(log_p, abs=1e-5)


def test_a_shape_that_cannot_be_is_refused():
    for wrong, match in (
        ({"d_model": 10}, "n_heads = 4 must divide"),
        ({"d_model": 12, "positions": "rotary"}, "even d_model / n_heads, not 3"),
        ({"dropout": 1.0}, "dropout"),
        ({"positions": "fixed"}, "positions must be"),
        ({"n_decoder_layers": 0}, "n_decoder_layers"),
        ({"norm_eps": 0.0}, "norm_eps"),
    ):
        with pytest.raises(ValueError, match=match):
            TransformerConfig(**{"vocab_size": 10, **wrong})
    assert FAMILIES["transformer"] == (TransformerConfig, Transformer)
    assert TransformerConfig(1, n_layers=5).decoder_layers == 5
    assert dataclasses.replace(TransformerConfig(1), d_inner=7).inner == 7
