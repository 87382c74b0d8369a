"""C9: counts, and a judge that can be contradicted."""

import copy

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c09_many_heads_one_price import TOKENS, WIDTH, _operations, _parameters
from glassformer.claims.claim import Verdict

C9 = claim("C9")


@pytest.mark.parametrize("heads", [1, 16])
def test_counts_are_those_of_the_formulas(heads):
    n = 32
    assert _parameters(heads) == 4 * (WIDTH * WIDTH + WIDTH)
    assert _operations(n, heads) == 8 * TOKENS * WIDTH * WIDTH + 4 * TOKENS * n * WIDTH


def judged(factors, quick=False):
    """The verdict if every number of heads takes so many times one head's time, by path and length."""
    kept = copy.deepcopy(measured("C9"))
    for (path, n), times in zip(kept["settings"], kept["times"], strict=True):
        one = times["passes"][0]
        for of_h in times["passes"][1:]:
            of_h[:] = [factor * t for factor, t in zip(factors(path, n, len(one)), one, strict=True)]
    return C9.judge({**kept, "quick": quick})


def test_equal_times_let_it_hold():
    assert judged(lambda path, n, rounds: [1.1] * rounds).verdict is Verdict.HOLDS


def test_it_holds_up_to_the_length_at_which_time_differs():
    judgement = judged(lambda path, n, rounds: [1.1 if n < 128 or path == "fused" else 1.9] * rounds)
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en == "n ≤ 512 in the fused kernel, n ≤ 32 step by step"


def test_many_heads_that_always_take_longer_contradict_it():
    assert judged(lambda path, n, rounds: [1.5] * rounds).verdict is Verdict.FAILS


def test_a_quick_run_may_leave_it_open():
    def around(path, n, rounds):
        return [1.0, 1.5, *[1.2] * (rounds - 2)] if n > 32 else [1.0] * rounds

    assert judged(around, quick=True).verdict is Verdict.UNDECIDED
    assert judged(around).verdict is Verdict.WITHIN


@pytest.mark.parametrize("part", ["parameters", "operations"])
def test_other_counts_contradict_it(part):
    kept = copy.deepcopy(measured("C9"))
    counts = kept[part] if part == "parameters" else kept[part][1]
    counts[-1] += 1
    assert C9.judge(kept).verdict is Verdict.FAILS
