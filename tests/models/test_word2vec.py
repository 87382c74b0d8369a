"""The batched step is the textbook's sum over pairs."""

import dataclasses

import numpy as np
import pytest
import torch

from glassformer.data.pairs import PLACES, Neighbours
from glassformer.models import Word2Vec, Word2VecConfig
from glassformer.models.word2vec import Groups

WINDOW, V = 3, 12


def made(objective: str, n: int = 75) -> tuple[Word2Vec, Groups]:
    torch.manual_seed(0)
    config = Word2VecConfig(V + 1, d_model=6, objective=objective, window=WINDOW, negative=4, subsample=0.05)  # type: ignore[arg-type]
    model = Word2Vec(config).double()
    torch.nn.init.normal_(model.embedding.weight)
    torch.nn.init.normal_(model.contexts.weight)
    chance = np.random.default_rng(3)
    neighbours = Neighbours(np.arange(V, 0, -1) * 10, config)
    groups = neighbours.groups(chance.integers(0, V, (2, n)), chance, noise=8)
    double = {
        field.name: value.double() if value is not None and value.is_floating_point() else value
        for field in dataclasses.fields(groups)
        for value in [getattr(groups, field.name)]
    }
    return model, Groups(**double)


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def textbook(model: Word2Vec, groups: Groups) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss and gradients of both tables, pair by pair: -log σ(u·v) - 4 · mean over the noise of log σ(-u·v),
    with the mean of the neighbours' vectors as v in CBOW, whose gradient each of them takes whole."""
    table_in, table_out = (t.weight.detach().numpy() for t in (model.embedding, model.contexts))
    by_in, by_out, loss = np.zeros_like(table_in), np.zeros_like(table_out), 0.0
    noise_from = groups.contexts_gc.shape[1] - 8
    for g, p, c in groups.wanted_gpc.nonzero().tolist():
        if groups.near_gpi is None:
            inputs = [int(groups.inputs_gi[g, p])]
        else:
            inputs = groups.inputs_gi[g][groups.near_gpi[g, p] > 0].tolist()
        v = table_in[inputs].mean(0)
        targets = [(int(groups.contexts_gc[g, c]), 1.0, 1.0)]
        targets += [(int(word), 0.0, 4 / 8) for word in groups.contexts_gc[g, noise_from:]]
        for word, label, weight in targets:
            score = sigmoid(v @ table_out[word])
            loss -= weight * np.log(score if label else 1 - score)
            slope = weight * (score - label)
            by_out[word] += slope * v
            for i in inputs:
                by_in[i] += slope * table_out[word]
    return loss, by_in, by_out


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_loss_and_gradients_are_the_textbooks_sum(objective: str) -> None:
    model, groups = made(objective)
    assert len(groups.inputs_gi) > 1
    assert groups.contexts_gc.shape[1] == PLACES + 8 + (2 * WINDOW if objective == "skipgram" else 0)
    loss, by_in, by_out = textbook(model, groups)
    assert float(model(groups).detach()) == pytest.approx(loss, rel=1e-12)
    _, inputs_gid, contexts_gcd = model.gradients(groups)
    for ids, slopes, expected in (
        (groups.inputs_gi, inputs_gid, by_in),
        (groups.contexts_gc, contexts_gcd, by_out),
    ):
        summed = torch.zeros(V + 1, 6, dtype=torch.float64)
        summed.index_add_(0, ids.flatten(), slopes.flatten(0, 1))
        np.testing.assert_allclose(summed.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_gradients_are_autograds(objective: str) -> None:
    model, groups = made(objective)
    model(groups).backward()
    _, inputs_gid, contexts_gcd = model.gradients(groups)
    summed = torch.zeros(V + 1, 6, dtype=torch.float64)
    summed.index_add_(0, groups.contexts_gc.flatten(), contexts_gcd.flatten(0, 1))
    torch.testing.assert_close(summed, model.contexts.weight.grad)
    if objective == "skipgram":
        summed.zero_().index_add_(0, groups.inputs_gi.flatten(), inputs_gid.flatten(0, 1))
        torch.testing.assert_close(summed, model.embedding.weight.grad)


def test_a_step_goes_down_by_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    model, groups = made("skipgram")
    before = model.embedding.weight.detach().clone(), model.contexts.weight.detach().clone()
    loss, by_in, by_out = textbook(model, groups)
    seen, length = model.step(groups, 0.01, len(groups.inputs_gi))
    assert seen == pytest.approx(loss / groups.n_targets)
    assert length > 0
    torch.testing.assert_close(model.embedding.weight, before[0] - 0.01 * torch.from_numpy(by_in))
    torch.testing.assert_close(model.contexts.weight, before[1] - 0.01 * torch.from_numpy(by_out))
    assert float(model(groups).detach()) < loss


def test_shared_noise_is_fresh_noise_on_average() -> None:
    """The expected gradient is that of `negative` fresh words for each pair."""
    model, groups = made("skipgram", n=40)
    counts = np.arange(V, 0, -1) * 10
    share = counts**0.75 / (counts**0.75).sum()
    h_gpd = torch.nn.functional.embedding(groups.inputs_gi, model.embedding.weight).detach()
    scores_gpV = h_gpd @ model.contexts.weight[:V].detach().T
    pairs_gp1 = groups.wanted_gpc.sum(2, keepdim=True)
    exact = (
        (4 * pairs_gp1 * torch.sigmoid(scores_gpV) * torch.from_numpy(share))[..., None] * h_gpd[:, :, None]
    ).sum((0, 1))
    chance, drawn = np.random.default_rng(0), torch.zeros(V, 6, dtype=torch.float64)
    rounds = 3000
    for _ in range(rounds):
        noise_gk = torch.from_numpy(chance.choice(V, (len(groups.inputs_gi), 8), p=share))
        contexts = torch.cat([groups.contexts_gc[:, :-8], noise_gk], 1)
        changed = dataclasses.replace(groups, contexts_gc=contexts)
        _, _, slopes = model.gradients(changed)
        drawn.index_add_(0, noise_gk.flatten(), slopes[:, -8:].flatten(0, 1) / rounds)
    torch.testing.assert_close(drawn, exact, atol=0.05 * float(exact.abs().max()), rtol=0)


def test_a_fresh_model_is_begun_as_the_originals() -> None:
    model = Word2Vec(Word2VecConfig(50, d_model=10))
    assert not model.contexts.weight.any()
    assert 0.045 < float(model.embedding.weight.detach().abs().max()) <= 0.05


@pytest.mark.parametrize(
    "wrong",
    [{"window": 0}, {"window": 101}, {"negative": 0}, {"subsample": 2.0}, {"objective": "x"}, {"d_model": 0}],
)
def test_a_shape_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Word2VecConfig(10, **wrong)  # type: ignore[arg-type]
