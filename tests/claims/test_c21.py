"""C21: the task has one answer, and what contradicts the claim."""

import numpy as np
import pytest

from glassformer.claims import c21_robust_heads, claim, measured
from glassformer.claims.c21_robust_heads import PAIRS, ROWS, SYMBOLS, Lookup, lookup, spread
from glassformer.claims.claim import Verdict, Work
from glassformer.data.batches import IGNORE

C21 = claim("C21")


def test_each_key_that_asks_has_its_value_in_sight():
    batch = lookup(np.random.default_rng(3))
    assert batch.n_targets == ROWS * PAIRS
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        table = dict(divmod(pair, SYMBOLS) for pair in inputs[:PAIRS])
        assert len(table) == PAIRS
        assert targets[:PAIRS] == [IGNORE] * PAIRS
        assert targets[PAIRS:] == [table[key - SYMBOLS**2] for key in inputs[PAIRS:]]


def test_batches_follow_from_seed_and_step_and_all_are_measured_alike():
    first, again, other = (Lookup(seed).training_batches(step)[0] for seed, step in ((1, 5), (1, 5), (2, 5)))
    assert first.inputs.equal(again.inputs)
    assert not first.inputs.equal(other.inputs)
    held_out = [next(iter(Lookup(seed).validation_batches())) for seed in (1, 2)]
    assert held_out[0].inputs.equal(held_out[1].inputs)


def test_first_matrices_have_the_deviation_that_is_said(monkeypatch):
    seen = {}

    def final_loss(model, task, config):
        parts = [p for p in model.blocks.parameters() if p.dim() == 2]
        seen[len(seen)] = [float(p.detach().std()) for p in parts]
        return 0.0

    monkeypatch.setattr(c21_robust_heads, "final_loss", final_loss)
    for scale in (0.125, 4):
        c21_robust_heads._final(400, 2, (0, scale))
    assert seen[0] == pytest.approx([0.125 / 32**0.5] * 6, rel=0.1)
    assert seen[1] == pytest.approx([4 / 32**0.5] * 6, rel=0.1)


def test_losses_are_kept_by_seed_and_scale(monkeypatch):
    monkeypatch.setattr(
        c21_robust_heads, "_final", lambda steps, heads, key: heads + key[0] / 10 + key[1] / 1000
    )
    found = C21.measure(Work(quick=False))
    assert found["4"][7] == pytest.approx([4.700125, 4.701, 4.704])
    assert len(found["4"]) == 16


def scattered(seed, size):
    """Losses of sixteen seeds at three scales that scatter so much around 1."""
    return (1 + size * np.random.default_rng(seed).normal(size=(16, 3))).tolist()


def measurement(*sizes, **more):
    kept = {**measured("C21"), "quick": False}
    return kept | {str(h): scattered(h, size) for h, size in zip(kept["heads"], sizes, strict=True)} | more


def test_the_spread_is_that_of_all_trainings():
    found = measurement(0.3, 0.1, 0.1, 0.1)
    assert spread(found, 1).mean == pytest.approx(np.std(found["1"]))


def test_a_smaller_spread_bears_it_out_and_the_same_contradicts_it():
    assert C21.judge(measurement(0.3, 0.1, 0.1, 0.05)).verdict is Verdict.HOLDS
    assert C21.judge(measurement(0.3, 0.3, 0.3, 0.6)).verdict is Verdict.FAILS
    assert C21.judge(measurement(0.3, 0.1, 0.1, 0.05, quick=True)).verdict is Verdict.UNDECIDED


def test_it_holds_within_the_bad_starts_that_are_withstood():
    found = measurement(0.3, 0.3, 0.3, 0.3)
    for heads in ("4", "8"):
        found[heads] = [[small, good, 1 + 0.003 * k] for k, (small, good, _) in enumerate(found[heads])]
    judgement = C21.judge(found)
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en == "4 and 8 heads from first weights that are too large (4/√D)"
    assert "from 4/√D" in judgement.reason.en


def test_what_never_learns_is_not_robust():
    stuck = {str(h): [[2.08] * 3] * 16 for h in (2, 4, 8)}
    assert C21.judge(measurement(0.3, 0, 0, 0) | stuck).verdict is Verdict.FAILS


@pytest.mark.slow
def test_a_quick_run_decides_nothing():
    measured_now = {"quick": True, **C21.measure(Work(quick=True))}
    assert C21.judge(measured_now).verdict is Verdict.UNDECIDED
