"""C20: pairs that can be compared, distances that are exactly 0 or not, and a judge that can be
contradicted."""

import copy

import pytest
import torch

from glassformer.claims import claim, measured
from glassformer.claims.c20_one_vector_or_many import PAIRS, distance
from glassformer.claims.claim import Verdict, Work

C20 = claim("C20")


@pytest.mark.parametrize("side", PAIRS)
def test_a_pair_has_its_word_at_the_same_place_of_texts_of_equal_length(side):
    for pair in PAIRS[side]:
        first, second = pair.first.split(" "), pair.second.split(" ")
        place = 0 if side == "right" else len(first) - 1
        assert len(first) == len(second)
        assert first[place] == second[place] == pair.word
        assert first != second


def test_a_distance_is_told_in_lengths():
    assert distance(torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])) == pytest.approx(5 / 3.5)


def test_it_holds_and_is_the_same_for_the_same_seeds():
    found = C20.measure(Work(quick=True))
    assert C20.judge({**found, "quick": True}).verdict is Verdict.HOLDS
    assert found["seeds"][1]["left"]["causal"] == pytest.approx(measured("C20")["seeds"][1]["left"]["causal"])


@pytest.mark.parametrize(
    ("side", "machine", "value"),
    [
        ("right", "static", 1e-12),
        ("right", "causal", 1e-12),
        ("right", "encoder", 0.0),
        ("left", "causal", 0.0),
    ],
)
def test_one_pair_that_is_otherwise_contradicts_it(side, machine, value):
    kept = copy.deepcopy(measured("C20"))
    assert C20.judge(kept).verdict is Verdict.HOLDS
    for seed in kept["seeds"]:
        seed[side][machine][2] = value
    assert C20.judge(kept).verdict is Verdict.FAILS
