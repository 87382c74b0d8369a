"""Proofs of a weight: every step against numpy, and what the spelled lines say."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.errors import UserError
from glassformer.glass import Trace, trace
from glassformer.glass.edits import let_see
from glassformer.glass.proof import Term, names, prove, spelled
from oracle import KINDS, TOKENS, make, passed, put, shared

EVERY = pytest.mark.parametrize("kind", KINDS)
EXACT = {"rel": 1e-12, "abs": 1e-13}


def traced_of(model, layer=1, edits=()):
    return trace(model, TOKENS, names(layer), edits=edits)


def recomputed(model, traced, layer, head, query, key):
    """All of a proof from the recorded q, k and mask, in the float64 of numpy."""
    q, k, mask = (traced[name][0].numpy() for name in names(layer)[:3])
    operands = q[head, query].astype(float), k[head // (4 // len(k))].astype(float)
    dots = (operands[1] * operands[0]).sum(-1)
    bias = np.zeros(6)
    if model.config.positions == "relative":
        table = model.positions.table.weight.detach().double().numpy()
        bias = table[(query - np.arange(6)).clip(0), head]
    scores = np.where(mask[head, query], dots / 2 + bias, -np.inf)
    exponentials = np.exp(scores - scores.max())
    return {
        "terms": [*zip(range(4), operands[0], operands[1][key], strict=True)],
        "dot": dots[key],
        "bias": bias[key] if mask[head, query, key] else 0.0,
        "score": scores[key],
        "row_max": scores.max(),
        "exponential": exponentials[key],
        "row_sum": exponentials.sum(),
        "weight": exponentials[key] / exponentials.sum(),
        "model_weight": float(traced[names(layer)[-1]][0, head, query, key]),
    }


@EVERY
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["64", "32"])
@pytest.mark.parametrize("edits", [[], [let_see(1, 2, 5, True), let_see(1, 3, 0, False)]], ids=["", "edited"])
def test_every_step_is_that_of_numpy(kind, dtype, edits):
    model = make(kind, dtype)
    traced = traced_of(model, edits=edits)
    cells = [((slice(None), 2, 5), True), ((slice(None), 3, 0), False)][: len(edits)]
    changes = [("blocks.1.attention.mask", put(*cell)) for cell in cells]
    weights = passed(model, TOKENS, changes)["blocks.1.attention.weights"]
    mask = traced["blocks.1.attention.mask"][0]
    for head, query, key in np.ndindex(4, 6, 6):
        proof = prove(traced, 1, head, query, key)
        expected = recomputed(model, traced, 1, head, query, key)
        assert [(term.i, term.q, term.k) for term in proof.terms] == expected.pop("terms")
        assert {name: getattr(proof, name) for name in expected} == pytest.approx(expected, **EXACT)
        assert proof.weight == pytest.approx(weights[head, query, key], abs=1e-6)
        assert abs(proof.difference) < (1e-6 if dtype == torch.float32 else 1e-15)
        assert proof.difference == proof.model_weight - proof.weight
        assert (proof.layer, proof.head, proof.query, proof.key, proof.d_k) == (1, head, query, key, 4)
        assert proof.visible == bool(mask[head, query, key]) == (proof.weight > 0)
        assert proof.n_visible == int(mask[head, query].sum())


def test_a_masked_key():
    proof = prove(traced_of(make()), 1, 2, 3, 4)
    assert not proof.visible
    assert (proof.score, proof.exponential, proof.weight, proof.model_weight) == (-math.inf, 0.0, 0.0, 0.0)
    assert proof.dot != 0
    assert proof.n_visible == 4


def test_the_first_token_sees_itself_alone():
    proof = prove(traced_of(make()), 1, 0, 0, 0)
    assert (proof.weight, proof.exponential, proof.row_sum, proof.n_visible) == (1.0, 1.0, 1.0, 1)
    assert proof.score == proof.row_max == proof.dot / 2


@EVERY
def test_a_row_that_sees_nothing(kind):
    traced = traced_of(make(kind), edits=[let_see(1, 0, 0, False)])
    proof = prove(traced, 1, 3, 0, 0)
    assert (proof.weight, proof.exponential, proof.row_sum, proof.n_visible) == (0.0, 0.0, 0.0, 0)
    assert (proof.score, proof.row_max, proof.model_weight) == (-math.inf, -math.inf, 0.0)


@EVERY
def test_a_model_that_does_other_arithmetic_is_found_out(kind):
    traced = trace(make(kind), TOKENS, "blocks.1.attention.*")
    scores, weights = (f"blocks.1.attention.{name}" for name in ("scores", "weights"))
    traced.tensors[scores] = traced[scores] * 2  # as if the root had been forgotten
    traced.tensors[weights] = traced[scores].softmax(-1)
    assert max(abs(prove(traced, 1, 0, 5, key).difference) for key in range(6)) > 1e-2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((2, 0, 0, 0), "layer 2 is not there: the model has layers 0 to 1"),
        ((-1, 0, 0, 0), "layer -1 is not there: the model has layers 0 to 1"),
        ((1, 4, 0, 0), "head 4 is not there: head numbers go from 0 to 3"),
        ((1, -1, 0, 0), "head -1 is not there: head numbers go from 0 to 3"),
        ((1, 0, 6, 0), "query 6 is not there: query numbers go from 0 to 5"),
        ((1, 0, -1, 0), "query -1 is not there: query numbers go from 0 to 5"),
        ((1, 0, 0, 6), "key 6 is not there: key numbers go from 0 to 5"),
        ((1, 0, 0, -1), "key -1 is not there: key numbers go from 0 to 5"),
    ],
)
def test_what_is_not_there(asked, message):
    with pytest.raises(UserError) as caught:
        prove(traced_of(make()), *asked)
    assert str(caught.value) == message


def test_a_layer_that_was_not_recorded():
    with pytest.raises(KeyError, match=r"blocks\.0\.attention\.q"):
        prove(traced_of(make()), 0, 0, 0, 0)


NUMBERS = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


@settings(derandomize=True, deadline=None)
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20), n=st.integers(0, 24))
def test_the_largest_terms_and_the_rest_make_up_the_dot_product(pairs, n):
    terms = tuple(Term(i, *pair) for i, pair in enumerate(pairs))
    proof = replace(prove(traced_of(shared()), 1, 0, 0, 0), terms=terms)
    shown, rest = proof.largest(n)
    hidden = [term for term in terms if term not in shown]
    assert len(shown) == min(n, len(terms))
    assert [term.i for term in shown] == sorted(term.i for term in shown)
    sizes = [[abs(term.product) for term in part] for part in (shown, hidden)]
    assert not shown or not hidden or min(sizes[0]) >= max(sizes[1])
    total, scale = math.fsum(term.product for term in terms), sum(map(sum, sizes))
    assert math.fsum([*(term.product for term in shown), rest]) == pytest.approx(total, abs=1e-14 * scale)
    assert shown == proof.largest(n)[0]
    assert len(proof.largest()[0]) == min(8, len(terms))


def by_hand(kind="rotary", bias=0.0):
    """Round numbers: d = 4; the second token reads the first with 1/4, itself with 3/4."""
    model = make(kind, n_layers=1)
    if kind == "relative":
        torch.nn.init.constant_(model.positions.table.weight, bias)
    q, k = torch.zeros(1, 4, 2, 4), torch.zeros(1, model.blocks[0].attention.n_kv_heads, 2, 4)
    q[0, 1, 1] = torch.tensor([2.0, -1.0, 0.5, 4.0])
    k[0, :, 0] = torch.tensor([3.0, 1.0, 1.0, 0.25])
    k[0, :, 1, 0] = (6.5 + 2 * math.log(3)) / 2
    weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]]).expand(1, 4, 2, 2)
    tensors = dict(zip(names(0), (q, k, torch.ones(1, 4, 2, 2).tril().bool(), weights), strict=True))
    return Trace(model, torch.tensor([[1, 2]]), tensors, "reference")


HEAD = "layer 0, head 1: how much 'cat' (1) reads 'the' (0)"
TAIL = [
    "row sum over 2 visible keys = 1.33333333",
    "weight = 0.333333327 / 1.33333333 = 0.249999996",
    "the model used 0.25, which differs by 3.7e-09",
]


@pytest.mark.parametrize("kind", ["rotary", "relative"])
def test_the_spelled_proof(kind):
    assert spelled(prove(by_hand(kind), 0, 1, 1, 0), ["the", "cat"]).split("\n") == [
        HEAD,
        "q·k = + 6 [0: 2·3] - 1 [1: -1·1] + 0.5 [2: 0.5·1] + 1 [3: 4·0.25]",
        "    = 6.5",
        "score = 6.5 / √4 = 3.25",
        "exp(score - the row's largest, 4.34861231) = 0.333333327",
        *TAIL,
    ]


def test_the_spelled_bias():
    assert spelled(prove(by_hand("relative", -0.125), 0, 1, 1, 0), ["the", "cat"], 3).split("\n") == [
        HEAD,
        "q·k = + 6 [0: 2·3] - 1 [1: -1·1] + 1 [3: 4·0.25] + 0.5 [1 smaller term]",
        "    = 6.5",
        "score = 6.5 / √4 + bias -0.125 = 3.125",
        "exp(score - the row's largest, 4.22361231) = 0.333333327",
        *TAIL,
    ]


def test_the_spelled_mask():
    assert spelled(prove(by_hand(), 0, 1, 0, 1), ["the", "cat"], terms=0).split("\n") == [
        "layer 0, head 1: how much 'the' (0) reads 'cat' (1)",
        "q·k = + 0 [4 smaller terms]",
        "    = 0",
        "masked: this key may not be seen, so the score is -inf and the weight exactly 0",
    ]


@pytest.mark.parametrize(("key", "lines"), [(2, 8), (4, 4)])
def test_no_label_breaks_a_line(key, lines):
    labels = ["a\nb\r\x85\u2028\x1b"] * 6
    shown = spelled(prove(traced_of(make()), 1, 0, 3, key), labels)
    assert len(shown.splitlines()) == lines
    assert r"'a\nb\r\x85\u2028\x1b' (3) reads" in shown
