"""C15: counted operations, where two terms cross, and a judge that can be contradicted."""

import copy
import math

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c15_cost_of_a_layer import crossing
from glassformer.claims.claim import Verdict
from glassformer.claims.costs import chain_length, count, formula

C15 = claim("C15")


@pytest.mark.parametrize("size", [(1, 8), (5, 8), (7, 16)])
@pytest.mark.parametrize("kind", ["rnn", "block"])
def test_what_is_counted_is_the_formula(kind, size):
    assert count(kind, size) == formula(kind, *size)


def test_chains():
    assert [chain_length("rnn", n) for n in (2, 5)] == [2, 5]
    assert chain_length("block", 2) == chain_length("block", 5) == 6


def test_lines_cross_between_sizes():
    sizes = [1, 4, 16]
    assert crossing(sizes, [8, 8, 8], [1, 4, 16]) == pytest.approx(8)
    assert crossing(sizes, [8, 8, 8], [9, 10, 11]) == 1
    assert crossing(sizes, [8, 8, 8], [1, 1, 1]) == math.inf


def timed_as(powers):
    """What was measured, if time at large sizes had grown like operations to these powers."""
    kept = copy.deepcopy(measured("C15"))
    for name, counts in kept["operations"].items():
        power = powers.get(name, 1)
        kept["times"][name] = [[1e-9 * count**power] * len(kept["times"][name][0]) for count in counts]
    return C15.judge(kept)


def test_it_holds_where_time_grows_like_operations():
    assert timed_as({}).verdict is Verdict.HOLDS


@pytest.mark.parametrize("power", [0.5, 1.5])
def test_time_that_grows_otherwise_is_named(power):
    judgement = timed_as({"rnn n": power})
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en.endswith("for RNN over n")


def test_a_quick_run_may_leave_it_open():
    kept = copy.deepcopy(measured("C15"))
    for name, counts in kept["operations"].items():
        kept["times"][name] = [[count, count, count**1.3] for count in counts]
    assert C15.judge({**kept, "quick": True}).verdict is Verdict.UNDECIDED
    assert C15.judge(kept).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("operations", "block n", [1, 2, 3, 4, 5, 6, 7]),
        ("operations", "rnn d", [1, 2, 3, 4, 5, 6, 7]),
        ("chains", "rnn", [6, 6, 6]),
        ("chains", "block", [6, 7, 8]),
        ("paths", 0, 1),
        ("paths", 1, 11),
    ],
)
def test_other_counts_contradict_it(part, key, value):
    kept = copy.deepcopy(measured("C15"))
    kept[part][key] = value
    assert C15.judge(kept).verdict is Verdict.FAILS
