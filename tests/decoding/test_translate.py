"""Beam search against all there is, and each source as it would be alone."""

import itertools
import math

import pytest
import torch

from glassformer import UserError
from glassformer.decoding import scores
from glassformer.decoding.translate import alignment, search
from glassformer.models import Seq2Seq, Seq2SeqConfig

START = END = 3
SOURCES = [[0, 1, 2, 1, 0], [2], [1, 1, 0], [0, 2]]


def make(attention="additive", seed=0, kind="gru"):
    torch.manual_seed(seed)
    model = Seq2Seq(Seq2SeqConfig(4, kind, attention, context=4, d_model=6))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
    return model.double().eval().requires_grad_(False)


def log_p(model, source, target):
    """Of a target with END, by teacher forcing."""
    logits = model(torch.tensor([source]), None, torch.tensor([[START, *target]]))
    each = logits[0].log_softmax(-1)
    return sum(float(each[t, token]) for t, token in enumerate([*target, END]))


def exhaustive(model, source, alpha, limit):
    """The best (score, target) of all targets of at most `limit` tokens with END."""
    targets = (list(t) for n in range(limit) for t in itertools.product(range(3), repeat=n))
    with torch.no_grad():
        return max((log_p(model, source, t) / (len(t) + 1) ** alpha, t) for t in targets)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_a_wide_beam_finds_the_best_of_all(attention, alpha):
    found = 0
    for seed in range(3):
        model = make(attention, seed)
        greedy = search(model, SOURCES, START, END, alpha=alpha)
        for source, (best,), (quick,) in zip(
            SOURCES, search(model, SOURCES, START, END, beam=4**4, alpha=alpha), greedy, strict=True
        ):
            score, target = exhaustive(model, source, alpha, 4)
            assert best.ids == target
            assert best.score == pytest.approx(score, abs=1e-9)
            assert best.log_p == pytest.approx(log_p(model, source, target), abs=1e-9)
            assert quick.score <= best.score + 1e-9
            found += quick.ids != best.ids
    assert found  # greedy is not always best, or nothing was tested


def test_greedy_takes_the_likeliest_token():
    model = make(seed=1)
    for source, [found] in zip(SOURCES, search(model, SOURCES, START, END), strict=True):
        target = []
        while len(target) < 3:
            logits = model(torch.tensor([source]), None, torch.tensor([[START, *target]]))
            if (token := int(logits[0, -1].argmax())) == END:
                break
            target.append(token)
        assert found.ids == target


@pytest.mark.parametrize("beam", [1, 3])
def test_together_alone_and_padded_are_the_same(beam):
    model = make(kind="lstm")
    together = search(model, SOURCES, START, END, beam=beam)
    padded = search(model, SOURCES, START, END, beam=beam, width=11)
    alone = [search(model, [source], START, END, beam=beam)[0] for source in SOURCES]
    for one, *others in zip(together, padded, alone, strict=True):
        for other in others:
            assert other[0].ids == one[0].ids
            assert other[0].score == pytest.approx(one[0].score, abs=1e-12)


def test_an_alignment_has_a_row_for_each_token_and_end():
    weights = alignment(make(), [0, 1, 2], [2, 1], START)
    assert weights.shape == (3, 3)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3).double())
    with pytest.raises(UserError, match="no attention"):
        alignment(make("none"), [0], [1], START)


def test_what_cannot_be_searched_is_refused():
    for wrong in ({"beam": 0}, {"limit": 0}, {"alpha": -1.0}):
        with pytest.raises(UserError, match="at least"):
            search(make(), SOURCES, START, END, **wrong)


def test_scores_are_sacrebleus_with_its_signature():
    told = scores.against(
        ["the cat sat on the mat", "a dog ran"], ["the cat sat on the mat", "a dog ran off"]
    )
    # By hand: precisions 9/9, 7/7, 5/5, 3/3; brevity exp(1 - 10/9).
    assert told.bleu == pytest.approx(100 * math.exp(1 - 10 / 9))
    assert "tok:13a" in told.bleu_signature
    assert "version:" in told.bleu_signature
    assert "nc:6" in told.chrf_signature
    assert told.exact == 0.5
    chinese = scores.against(["我从银行取了钱"], ["我从银行取了钱"])
    assert "tok:zh" in chinese.bleu_signature
    assert (round(chinese.bleu, 6), round(chinese.chrf, 6), chinese.exact) == (100, 100, 1)
    with pytest.raises(UserError, match="1 translations and 2 references"):
        scores.against(["a"], ["a", "b"])
