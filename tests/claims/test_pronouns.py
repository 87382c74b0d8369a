"""What is measured of models that learn pronouns, against `glass.effect` and loops; and that they learn."""

from dataclasses import replace

import pytest
import torch

from glassformer.claims import pronouns
from glassformer.claims.pronouns import KINDS, read, rows, told, untrained, words
from glassformer.data.pronouns import MASK
from glassformer.glass.effect import effect
from glassformer.glass.trace import trace

SMALL = {"context": 20, "n_layers": 2, "n_heads": 2, "d_model": 16}
KIND = KINDS[0]


@pytest.fixture
def one_kind(monkeypatch):
    monkeypatch.setattr(pronouns, "KINDS", (KIND,))


def sharper(family):
    """An untrained model whose weights and answers are not all alike, in float64."""
    model = untrained(family, 1, SMALL).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "blocks" in name and parameter.dim() == 2:
                parameter *= 8
    return model


def test_a_bert_reads_a_mask_where_a_gpt_writes():
    texts, answers, others = rows(KIND, True, 3)
    assert words().labels(texts[0].tolist())[0] == "<|endoftext|>"
    gpt, bert = (read(untrained(family, 0, SMALL), texts) for family in ("gpt", "bert"))
    assert torch.equal(gpt, texts)
    assert bert[:, -1].tolist() == words().encode(MASK).tolist() * 3
    assert not torch.any(answers == others)
    for each, answer, other in zip(texts, answers, others, strict=True):
        assert (each[KIND.referent + 1], each[KIND.other + 1]) == (answer, other)


def test_losses_are_those_of_the_package(one_kind):
    model = sharper("gpt")
    found = pronouns.effects(model, 2)
    texts, answers, _ = rows(KIND, True, 2)
    for edge, query in (("pronoun", KIND.pronoun + 1), ("answer", texts.shape[1] - 1)):
        each = [
            effect(model, text, target=int(answer), layers=[0, 1], queries=[query])
            for text, answer in zip(texts, answers, strict=True)
        ]
        at = each[0].key == KIND.referent + 1
        for name, column in (("weight", "weight"), ("cut", "cut"), ("zero", "zeroed")):
            sign = 1 if name == "weight" else -1
            expected = sum(sign * getattr(e, column)[at] for e in each) / 2
            assert found[edge][name][:4] == pytest.approx(expected, abs=1e-9)
            assert name == "weight" or max(map(abs, expected)) > 1e-6


def test_log_odds_are_against_the_other_animal(one_kind):
    model = sharper("bert")
    found = pronouns.effects(model, 2)
    texts, answers, others = rows(KIND, True, 2)
    ids = read(model, texts)
    edges = [(ids.shape[1] - 1, KIND.referent + 1)]

    def odds(edits):
        log_p = told(model, ids, edits)
        return (log_p.gather(1, answers[:, None]) - log_p.gather(1, others[:, None])).mean()

    everywhere = [pronouns.cut(layer, edges=edges) for layer in (0, 1)]
    assert found["answer"]["cut_odds"][-1] == pytest.approx(float(odds(()) - odds(everywhere)), abs=1e-9)
    assert abs(found["answer"]["cut_odds"][-1]) > 1e-3


def test_roles_are_mean_weights(one_kind):
    model = sharper("gpt")
    found = pronouns.roles(model, 2)
    ids = rows(KIND, True, 2)[0]
    weights = trace(model, ids, "blocks.*.attention.weights")["blocks.1.attention.weights"][:, 1]
    n = ids.shape[1]
    previous = [float(weights[b, i, i - 1]) for b in range(2) for i in range(1, n)]
    same = [
        sum(float(weights[b, i, j]) for j in range(i) if ids[b, j] == ids[b, i])
        for b in range(2)
        for i in range(n)
        if ids[b, i] in ids[b, :i]
    ]
    referents = weights[:, [KIND.pronoun + 1, -1], KIND.referent + 1].mean(0)
    expected = (sum(previous) / len(previous), sum(same) / len(same), *referents.tolist())
    assert [found[role][3] for role in pronouns.ROLES] == pytest.approx(expected, abs=1e-9)
    assert len(same) == 2  # of the question, only the state was said before


def test_a_few_steps_teach_something_and_are_repeated_by_the_seed(one_kind):
    few = replace(pronouns.TRAIN, steps=10)
    losses = []
    for _ in range(2):
        model = untrained("gpt", 0, SMALL)
        texts, answers, _ = rows(KIND, True, 20)
        before = told(model, texts).gather(1, answers[:, None]).mean()
        assert pronouns.taught(model, 0, few) == 10
        after = told(model, texts).gather(1, answers[:, None]).mean()
        assert after > before + 0.02
        losses.append(float(after))
    assert losses[0] == losses[1]
