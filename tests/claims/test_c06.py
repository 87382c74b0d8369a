"""C6: chains and passes as counted, and a judge that can be contradicted."""

import copy

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c06_serial_steps import _chain, _passes
from glassformer.claims.claim import Verdict

C6 = claim("C6")


def test_chains_and_passes_of_short_texts():
    assert [_chain(way, n) for way in ("explicit", "kernel") for n in (3, 7)] == [3, 7, 3, 7]
    # Queries or keys, scores, mixture, output.
    assert [_chain("attention", n) for n in (3, 7)] == [4, 4]
    assert [_passes(model, 5) for model in ("gpt", "rnn")] == [5, 5]


def test_it_holds_for_what_was_measured():
    assert C6.judge(measured("C6")).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("part", "name", "counts"),
    [
        ("chains", "attention", [4, 4, 5, 5, 6, 6]),
        ("chains", "kernel", [4, 4, 4, 4, 4, 4]),
        ("passes", "gpt", [1, 1, 1, 1, 1]),
    ],
)
def test_other_counts_contradict_it(part, name, counts):
    kept = copy.deepcopy(measured("C6"))
    kept[part][name] = counts
    assert C6.judge(kept).verdict is Verdict.FAILS


@pytest.mark.parametrize(("part", "name"), [("training", "kernel"), ("writing", "rnn")])
def test_time_that_does_not_grow_leaves_the_counts(part, name):
    kept = copy.deepcopy(measured("C6"))
    kept[part][name] = [kept[part][name][0]] * len(kept[part][name])
    assert C6.judge(kept).verdict is Verdict.WITHIN
    assert C6.judge({**kept, "quick": True}).verdict is Verdict.WITHIN


def test_a_quick_run_may_leave_open_how_time_grows():
    kept = copy.deepcopy(measured("C6"))
    rounds = zip(kept["lengths"], kept["training"]["kernel"], strict=True)
    kept["training"]["kernel"] = [[n**0.7, n**0.8, n**1.0] for n, _ in rounds]
    assert C6.judge({**kept, "quick": True}).verdict is Verdict.UNDECIDED
