"""Looking into a Transformer that translates: three kinds of attention, stacks of unequal depth."""

import math

import pytest
import torch

from glassformer import UserError
from glassformer.glass import edits, effect_pairs
from glassformer.glass.effect import effect as effect_of_text
from glassformer.glass.trace import trace
from glassformer.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig

SOURCE, READ = [3, 1, 4, 1, 5], [9, 2, 7]
DEPTH = {"encoder": 2, "decoder": 3, "cross": 3}
QUERIES = {"encoder": 5, "decoder": 3, "cross": 3}
KEYS = {"encoder": 5, "decoder": 3, "cross": 5}
EACH = pytest.mark.parametrize("of", DEPTH)


def make(**changes):
    torch.manual_seed(0)
    shape = {"n_layers": 2, "n_decoder_layers": 3, "n_heads": 2, "d_model": 8} | changes
    model = Transformer(TransformerConfig(10, **shape))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            torch.nn.init.normal_(parameter, float("norm.weight" in name), 0.4)
    return model.double().eval()


MODELS = {
    "today": make(),
    "2017": make(norm="layernorm", norm_order="post", positions="sinusoidal", activation="relu", bias=True),
}


def traced(model, names="*", **options):
    return trace(model, SOURCE, names, target=READ, **options)


def close(one, other, within=1e-12):
    torch.testing.assert_close(one, other, atol=within, rtol=within)


@EACH
def test_queries_and_keys_are_those_of_their_stacks(of):
    told = traced(MODELS["today"])
    assert tuple(told) == MODELS["today"].tap_names()
    assert told.attention == "reference"
    for layer in range(DEPTH[of]):
        weights = told.weights(layer, 1, of)
        assert weights.shape == (QUERIES[of], KEYS[of])
        assert torch.equal(weights, told[f"{edits.PLACES[of].format(layer)}.weights"][0, 1])
        close(weights.sum(-1), torch.ones(QUERIES[of]).double())
        assert bool(weights.triu(1).any()) == (of != "decoder")
    with pytest.raises(KeyError, match="unknown recorded name"):
        told.weights(DEPTH[of], 0, of)


@EACH
def test_edits_change_what_they_name(of):
    model, layer, head, query, key = MODELS["today"], 1, 1, 2, 1
    plain, at = traced(model), edits.PLACES[of].format(1)
    weights, v = plain.weights(layer, head, of), plain[f"{at}.v"]

    def changed(edit):
        told = traced(model, edits=[edit])
        assert told.edits == (edit,)
        others = [name for name in plain if name not in told.tensors]
        assert not others
        before = model.tap_names()[: model.tap_names().index(edit.name)]
        assert all(torch.equal(told[name], plain[name]) for name in before)
        assert not torch.equal(told["logits"], plain["logits"])
        return told

    cut = changed(edits.cut(layer, head, edges=[(query, key)], of=of)).weights(layer, head, of)
    left = weights[query].clone()
    left[key] = 0
    close(cut[query], left / left.sum())
    zeroed = changed(edits.zero(layer, head, edges=[(query, key)], of=of))
    close(zeroed.weights(layer, head, of)[query], left)
    unread = changed(edits.cut(layer, key=key, of=of))
    assert not unread[f"{at}.weights"][..., key].any()
    silent = changed(edits.silence(layer, head, of=of))
    assert not silent[f"{at}.heads"][0, head].any()
    assert torch.equal(silent[f"{at}.heads"][0, 0], plain[f"{at}.heads"][0, 0])
    swapped = changed(edits.swap_values(layer, 0, key, of=of))
    close(swapped[f"{at}.heads"][0, head], weights @ v[0, head][[1, 0, *range(2, KEYS[of])]])
    doubled = changed(edits.scale_value(layer, key, 2.0, head, of=of))
    gained = weights[:, key, None] * v[0, head, key]
    close(doubled[f"{at}.heads"][0, head], plain[f"{at}.heads"][0, head] + gained)
    emptied = changed(edits.set_value(layer, key, torch.zeros(4), of=of))
    close(emptied[f"{at}.heads"][0, head], plain[f"{at}.heads"][0, head] - gained)
    hidden = changed(edits.let_see(layer, query, key, False, head, of=of))
    close(hidden.weights(layer, head, of), cut)
    assert hidden.edits[0].said == f"do not let token 2 look at token 1 in {of} layer 1, head 1"


def test_an_open_mask_lets_the_decoder_see_what_follows():
    told = traced(MODELS["today"], edits=[edits.let_see(0, 0, 2, True, of="decoder")])
    assert (told["decoder.blocks.0.attention.weights"][0, :, 0, 2] > 0).all()


@EACH
def test_edits_that_change_nothing_change_nothing(of):
    model = MODELS["2017"]
    copies = [edit for layer in range(DEPTH[of]) for edit in edits.noop(layer, of)]
    close(traced(model, "logits", edits=copies)["logits"], traced(model, "logits")["logits"])


def test_a_part_of_another_source_is_patched_in():
    model = MODELS["today"]
    other = trace(model, [6, 2, 8, 0, 3], target=READ)
    name = "encoder.final"
    patched = traced(model, edits=[edits.patch(name, other[name])])
    close(patched["logits"], other["logits"])
    assert not torch.allclose(traced(model)["logits"], other["logits"])


@pytest.mark.parametrize("kind", MODELS)
@EACH
def test_effects_are_those_of_the_edits(of, kind):
    model = MODELS[kind]
    every = range(QUERIES[of])
    measured = traced(model).effect(of=of, target=6, queries=list(every))
    plain = traced(model, "logits")["logits"][0, -1].log_softmax(-1)[6]
    assert measured.log_probability == pytest.approx(float(plain), abs=1e-12)
    seen = {"encoder": 25, "decoder": 6, "cross": 15}[of]
    assert len(measured) == DEPTH[of] * 2 * seen
    assert measured.position == 2
    moved = 0
    for i in range(len(measured)):
        layer, head, query, key = (
            int(getattr(measured, name)[i]) for name in ("layer", "head", "query", "key")
        )
        assert measured.weight[i] == pytest.approx(
            float(traced(model).weights(layer, head, of)[query, key]), abs=1e-12
        )
        if i % 7:
            continue
        for name, edit in (("cut", edits.cut), ("zeroed", edits.zero)):
            told = traced(model, "logits", edits=[edit(layer, head, edges=[(query, key)], of=of)])
            change = float(told["logits"][0, -1].log_softmax(-1)[6] - plain)
            assert getattr(measured, name)[i] == pytest.approx(change, abs=1e-10)
            moved += abs(change) > 1e-3
    assert moved > 3


def test_what_is_measured_is_planned():
    model = MODELS["today"]
    for of, queries in (("encoder", 5), ("decoder", 1), ("cross", 1)):
        planned = effect_pairs.plan(model, 5, 3, of=of)
        assert len(planned.queries) == queries
        measured = effect_pairs.effect(model, SOURCE, READ, of=of)
        assert len(measured) == planned.n_edges
        likeliest = int(traced(model, "logits")["logits"][0, -1].argmax())
        assert measured.target == likeliest
    one = effect_pairs.effect(model, SOURCE, READ, of="cross", layers=[-1], heads=[0], queries=[1])
    assert set(one.layer.tolist()) == {2}
    assert one.key.tolist() == list(range(5))
    mean = effect_pairs.effect(model, SOURCE, READ, layers=[2], heads=[0], baseline="mean")
    none = effect_pairs.effect(model, SOURCE, READ, layers=[2], heads=[0])
    assert not math.isclose(mean.zeroed.sum(), none.zeroed.sum())
    assert (mean.cut == none.cut).all()


def test_what_is_not_there_is_named():
    model = MODELS["today"]
    for wrong, said in (
        ({"of": "text"}, "unknown attention 'text'"),
        ({"layers": [3]}, "layer 3 is not there: layer numbers go from 0 to 2"),
        ({"of": "encoder", "layers": [2]}, "layer 2 is not there"),
        ({"queries": [3]}, "query 3 is not there"),
        ({"target": 10}, "the target 10 is no id from 0 to 9"),
    ):
        with pytest.raises(UserError, match=said):
            effect_pairs.effect(model, SOURCE, READ, **wrong)
    with pytest.raises(UserError, match="recurrent encoder-decoder: it has no heads"):
        effect_pairs.effect(Seq2Seq(Seq2SeqConfig(10, d_model=8)), SOURCE, READ)
    with pytest.raises(UserError, match="an encoder-decoder"):
        effect_of_text(model, SOURCE)
    with pytest.raises(ValueError, match="this trace has edits"):
        traced(model, edits=[edits.silence(0, 0, of="cross")]).effect()
    with pytest.raises(ValueError, match="unknown tap name"):
        traced(model, edits=[edits.cut(0, key=0)])
