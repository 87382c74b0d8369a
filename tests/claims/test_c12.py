"""C12: losses by position against a loop, and what contradicts the claim."""

import numpy as np
import pytest
import torch

from glassformer.claims import claim, measured
from glassformer.claims.c12_beyond_the_length import COMPUTED, LENGTH, TIMES, WINDOWS, losses, rises
from glassformer.claims.claim import Verdict, Work
from glassformer.models import GPT, GPTConfig

C12 = claim("C12")


def fresh(positions):
    torch.manual_seed(0)
    shape = {"context": LENGTH, "n_layers": 1, "n_heads": 2, "d_model": 8}
    return GPT(GPTConfig(11, positions=positions, **shape)).eval()


def test_losses_by_position_are_those_of_single_windows():
    text = np.random.default_rng(0).integers(11, size=700).astype(np.uint16)
    model = fresh("rotary")
    found = losses(model, text, 50)
    starts = np.linspace(0, len(text) - TIMES * LENGTH - 1, WINDOWS).astype(int)
    expected = np.zeros(50)
    for start in starts:
        tokens = torch.from_numpy(text[start : start + 51].astype(np.int64))
        with torch.no_grad():
            log_p = model(tokens[None, :-1])[0][0].log_softmax(-1)
        expected -= log_p[torch.arange(50), tokens[1:]].numpy() / WINDOWS
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_learned_table_has_nothing_beyond_its_length():
    text = np.zeros(700, np.uint16)
    assert len(losses(fresh("learned"), text, LENGTH)) == LENGTH
    with pytest.raises(ValueError, match="past the learned table of 32 positions"):
        losses(fresh("learned"), text, LENGTH + 1)


def test_the_rise_is_from_the_latter_half_of_what_was_trained():
    kept = {"length": 4, "block": 1, "rotary": [{"loss": [9, 9, 1, 2, 4, 5]}]}
    assert rises(kept, "rotary") == [4.5 - 1.5]


def flat(kept, *names):
    """The kept measurement with losses of some kinds that stay as they are within the training length."""
    at = kept["length"] // kept["block"]
    return kept | {
        name: [
            {**run, "loss": run["loss"][:at] + [run["loss"][at - 1]] * (len(run["loss"]) - at)}
            for run in kept[name]
        ]
        for name in names
    }


def raised(kept, *names):
    at = kept["length"] // kept["block"]
    return kept | {
        name: [{**run, "loss": run["loss"][:at] + [x + 1 for x in run["loss"][at:]]} for run in kept[name]]
        for name in names
    }


def test_losses_that_rise_bear_it_out_and_such_as_stay_contradict_it():
    kept = measured("C12")
    every = raised(kept, *COMPUTED)
    assert C12.judge(every).verdict is Verdict.HOLDS
    assert C12.judge(flat(every, *COMPUTED)).verdict is Verdict.FAILS
    assert C12.judge({**flat(every, *COMPUTED), "quick": True}).verdict is Verdict.UNDECIDED
    within = C12.judge(flat(every, "relative"))
    assert within.verdict is Verdict.WITHIN
    assert within.within.en == "sinusoidal and rotary positions"
    assert "relative bias" in within.reason.en


def test_a_table_with_values_beyond_its_length_contradicts_it():
    kept = raised(measured("C12"), *COMPUTED)
    learned = [{**run, "past": None} for run in kept["learned"]]
    assert C12.judge({**kept, "learned": learned}).verdict is Verdict.FAILS


@pytest.mark.slow
def test_a_quick_run_does_not_contradict_it():
    measured_now = {"quick": True, **C12.measure(Work(quick=True))}
    assert C12.judge(measured_now).verdict is not Verdict.FAILS
