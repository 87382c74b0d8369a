"""Measured effects: every edge against a whole pass with that edge edited, and against numpy."""

import numpy as np
import pytest
import torch

from glassformer.errors import UserError
from glassformer.glass import effect as module
from glassformer.glass import trace
from glassformer.glass.edits import cut, zero
from glassformer.glass.effect import effect, plan, queries
from oracle import KINDS, TOKENS, log_softmax, make, passed

EVERY = pytest.mark.parametrize("kind", KINDS)
BASELINES = pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])


def edges_of(effects):
    return list(zip(*(getattr(effects, n).tolist() for n in ("layer", "head", "query", "key")), strict=True))


def weighed(model, layer, head, query):
    """Of one query in numpy: its head's weights (m,), and the values (m, d) that they weigh."""
    seen, groups = passed(model, TOKENS), model.config.n_kv_heads or 4
    at = f"blocks.{layer}.attention."
    return seen[at + "weights"][head, query], seen[at + "v"][head // (4 // groups)]


def replaced(model, edge, value, target):
    """The target's change, by numpy, when another value takes the place of the key's for this edge alone."""
    layer, head, query, key = edge
    weights, v = weighed(model, layer, head, query)
    v[key] = value

    def change(heads):
        heads[head, query] = weights @ v

    logits = passed(model, TOKENS, [(f"blocks.{layer}.attention.heads", change)])["logits"]
    return log_softmax(logits[-1])[target] - log_softmax(passed(model, TOKENS)["logits"][-1])[target]


@EVERY
def test_every_edge_is_what_a_whole_pass_without_it_gives(kind):
    model = make(kind)
    effects = effect(model, TOKENS, queries=[0, 2, -1])
    plain = trace(model, TOKENS)
    before = plain["logits"][0, -1].double().log_softmax(-1)
    assert effects.target == int(before.argmax())
    assert effects.log_probability == pytest.approx(float(before.max()), abs=1e-6)
    assert edges_of(effects) == [
        (i, h, q, k) for i in (0, 1) for q in (0, 2, 5) for h in range(4) for k in range(q + 1)
    ]
    for row, (layer, head, query, key) in enumerate(edges_of(effects)):
        for edit, measured in ((cut, effects.cut), (zero, effects.zeroed)):
            slow = trace(model, TOKENS, "logits", edits=[edit(layer, head, edges=[(query, key)])])
            after = slow["logits"][0, -1].double().log_softmax(-1)[effects.target]
            assert measured[row] == pytest.approx(float(after - before.max()), abs=1e-5)
        assert effects.weight[row] == plain.weights(layer, head)[query, key]
    assert np.abs(effects.cut).max() > 1e-2


@EVERY
def test_numpy_finds_the_same_where_a_lone_edge_is_cut_and_zeroed(kind):
    model = make(kind, torch.float64)
    effects = effect(model, TOKENS, target=3, queries=[0])
    for row, edge in enumerate(edges_of(effects)):
        expected = replaced(model, edge, 0.0, 3)
        assert effects.cut[row] == pytest.approx(expected, abs=1e-10)
        assert effects.zeroed[row] == pytest.approx(expected, abs=1e-10)


@EVERY
def test_moved_is_the_length_of_what_an_edge_adds(kind):
    model = make(kind)
    effects = effect(model, TOKENS, queries=[1, 5])
    for row, (layer, head, query, key) in enumerate(edges_of(effects)):
        weights, v = weighed(model, layer, head, query)
        w_o = model.blocks[layer].attention.output.weight.detach().double().numpy().T.reshape(4, 4, 16)
        expected = np.linalg.norm(weights[key] * v[key] @ w_o[head])
        assert effects.moved[row] == pytest.approx(expected, abs=1e-5)


@EVERY
def test_the_mean_of_what_the_query_sees_takes_the_place_of_a_value(kind):
    model = make(kind, torch.float64)
    effects = effect(model, TOKENS, target=0, queries=[3, 5], heads=[0, 3], baseline="mean")
    for row, edge in enumerate(edges_of(effects)):
        _, v = weighed(model, *edge[:3])
        expected = replaced(model, edge, v[: edge[2] + 1].mean(0), 0)
        assert effects.zeroed[row] == pytest.approx(expected, abs=1e-9)


@EVERY
def test_the_value_of_another_token_takes_the_place_of_a_value(kind):
    model = make(kind, torch.float64)
    asked = {"target": 0, "queries": [0, 2], "heads": [3], "layers": [0], "baseline": "resample"}
    effects = [effect(model, TOKENS, **asked, seed=seed).zeroed for seed in range(8)]
    edges = [(0, 3, 0, 0), *((0, 3, 2, key) for key in range(3))]
    for edge, zeroed in zip(edges, np.transpose(effects), strict=True):
        _, v = weighed(model, *edge[:3])
        others = [replaced(model, edge, v[k], 0) for k in range(edge[2] + 1) if k != edge[3]] or [0.0]
        assert np.abs(zeroed[:, None] - others).min(1).max() < 1e-9


def test_the_seed_decides_what_is_drawn():
    model = make()
    drawn = [effect(model, TOKENS, baseline="resample", seed=seed).zeroed for seed in (1, 1, 2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert np.abs(drawn[0] - drawn[2]).max() > 1e-3


@BASELINES
def test_only_what_is_zeroed_depends_on_the_baseline(baseline):
    zeroed, other = (effect(make(), TOKENS, baseline=name) for name in ("zero", baseline))
    assert other.baseline == baseline
    for column in ("weight", "moved", "cut"):
        np.testing.assert_array_equal(getattr(zeroed, column), getattr(other, column))
    assert (baseline == "zero") == bool(np.allclose(zeroed.zeroed, other.zeroed, atol=1e-4))


def test_a_baseline_that_is_not_there():
    with pytest.raises(UserError, match="unknown baseline 'means'; did you mean 'mean'"):
        effect(make(), TOKENS, baseline="means")


def test_what_is_asked_for_is_measured():
    model = make()
    every = effect(model, TOKENS, queries=range(6))
    part = effect(model, TOKENS, target=every.target, layers=[-1], heads=[3, 0, -1], queries=[-2, 4])
    assert edges_of(part) == [(1, head, 4, key) for head in (0, 3) for key in range(5)]
    rows = [edges_of(every).index(edge) for edge in edges_of(part)]
    for column in ("weight", "moved", "cut", "zeroed"):
        np.testing.assert_allclose(getattr(part, column), getattr(every, column)[rows], atol=1e-6)
    assert len(every) == plan(model, 6, queries=range(6)).n_edges == 2 * 4 * 21


@pytest.mark.parametrize("tokens", [torch.tensor(TOKENS), np.array(TOKENS), [TOKENS, TOKENS[::-1]]])
def test_takes_one_text(tokens):
    np.testing.assert_array_equal(effect(make(), tokens).cut, effect(make(), TOKENS).cut)


def test_a_text_of_one_token():
    effects = effect(make(), [3])
    np.testing.assert_array_equal(effects.weight, np.ones(8))
    np.testing.assert_allclose(effects.cut, effects.zeroed, atol=1e-6)
    assert np.abs(effects.cut).min() > 1e-4


@pytest.mark.parametrize("batch_tokens", [1, 7, 10**6])
def test_how_many_run_at_once_does_not_matter(monkeypatch, batch_tokens):
    usual = effect(make(), TOKENS, queries=[1, 4])
    monkeypatch.setattr(module, "BATCH_TOKENS", batch_tokens)
    other = effect(make(), TOKENS, queries=[1, 4])
    np.testing.assert_allclose(other.cut, usual.cut, atol=1e-6)
    np.testing.assert_allclose(other.zeroed, usual.zeroed, atol=1e-6)


def test_runs_without_dropout_and_leaves_model_and_mode_as_they_were():
    model = make(dropout=0.5).train()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    np.testing.assert_array_equal(effect(model, TOKENS).cut, effect(make(), TOKENS).cut)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_progress_reaches_the_total():
    heard = []
    effect(make(), TOKENS, queries=[1, -1], advance=lambda *given: heard.append(given))
    assert heard == [("measuring edges", done, 64) for done in (8, 32, 40, 64)]


def test_the_plan():
    model = make()
    assert plan(model, 6) == plan(model, 6, layers=[0, 1], heads=range(4), queries=[5])
    asked = plan(model, 6, layers=[-1, 1], heads=[2, -4], queries=[-1, 2, 5])
    assert (asked.layers, asked.heads, asked.queries) == ((1,), (0, 2), (2, 5))
    assert asked.n_edges == 2 * (3 + 6)
    block = 2 * (16 * (16 + 8 + 8 + 16) + 2 * 16 * 64 + 2 * 16)
    assert asked.operations == 2 * 2 * (3 * (4 * block + 2 * 176) + 6 * (block + 2 * 176))
    assert str(asked).startswith(
        "18 edges, each cut and zeroed: 36 passes from the affected layer on, about 0."
    )
    assert plan(model, 6, layers=[0], heads=[1]).operations == 2 * 6 * (2 * block + 2 * 176)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"layers": [2]}, "layer 2 is not there: layer numbers go from 0 to 1"),
        ({"layers": [0, -3]}, "layer -3 is not there: layer numbers go from 0 to 1"),
        ({"heads": [4]}, "head 4 is not there: head numbers go from 0 to 3"),
        ({"queries": [6]}, "query 6 is not there: query numbers go from 0 to 5"),
        ({"layers": []}, "no layer is asked for"),
        ({"heads": []}, "no head is asked for"),
        ({"queries": []}, "no query is asked for"),
    ],
)
def test_what_is_not_there(asked, message):
    for refuse in (lambda: plan(make(), 6, **asked), lambda: effect(make(), TOKENS, **asked)):
        with pytest.raises(UserError) as caught:
            refuse()
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("spoken", "expected"), [("last", [3]), ("all", [0, 1, 2, 3]), ("2", [2]), ("-1", [-1])]
)
def test_queries_as_a_person_names_them(spoken, expected):
    assert queries(spoken, 4) == expected


def test_queries_that_are_none():
    with pytest.raises(UserError, match=r"^query 'first': say last, all, or the place of a token from 0$"):
        queries("first", 4)
    with pytest.raises(UserError, match=r"^the text is empty$"):
        queries("all", 0)


@pytest.mark.parametrize("target", [-1, 11, "a", 1.5])
def test_a_target_that_is_no_id_is_named(target):
    with pytest.raises(UserError, match="is no id from 0 to"):
        effect(make("rotary"), TOKENS, target=target)
