"""C5: hits against a count by hand, and what contradicts the claim."""

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.c05_alignment import TASKS, beside, hits
from glassformer.claims.claim import Verdict, Work
from glassformer.data import tasks

C5 = claim("C5")


def altered(kept, what, value):
    """The kept measurement with a share of every run set to what another of its shares is."""
    return {**kept, **{name: [{**run, what: run[value]} for run in kept[name]] for name in TASKS}}


def test_hits_are_counted_where_the_source_is_known():
    assert hits([tasks.reversed_("abcd")], [[3, 2, 1, 0]], 0) == (1, 1 / 4)
    right, by_chance = hits([tasks.reversed_("abcd")], [[0, 2, 2, 2]], 1)
    assert (right, by_chance) == (2 / 4, (2 + 3 + 3 + 2) / 16)


def test_misses_are_told_by_their_side():
    examples = [tasks.reversed_("abcd"), tasks.Example("ab", "a-", ((0,), ()))]
    peaks = [[2, 3, 1, 3], [0, 1]]  # one before, one after, one hit, one far off; one hit, one of no place
    assert beside(examples, peaks, -1) == 1 / 5
    assert beside(examples, peaks, 1) == 1 / 5


def test_a_word_of_no_place_does_not_count_and_one_of_several_may_look_at_any():
    number = tasks.chinese(120_003)  # 十二万零三: 零 comes from the zeros, 万 from the group before it
    assert (number.target, number.alignment) == (
        "十二万零三",
        ((0,), (1,), (0, 1), (2, 3, 4), (5,)),
    )
    right, by_chance = hits([number], [[0, 1, 1, 4, 0]], 0)
    assert (right, by_chance) == (4 / 5, (1 + 1 + 2 + 3 + 1) / 6 / 5)
    placeless = tasks.Example("ab", "a-", ((0,), ()))
    assert hits([placeless], [[0, 0]], 0) == (1, 1 / 2)


def test_peaks_no_better_than_before_training_contradict_it():
    kept = measured("C5")
    for other in ("untrained", "chance"):
        near = altered(kept, "trained_hit", f"{other}_hit")
        assert C5.judge(near).verdict is Verdict.WITHIN
        far = altered(near, "trained_near", f"{other}_near")
        assert C5.judge(far).verdict is Verdict.FAILS
        assert C5.judge({**far, "quick": True}).verdict is Verdict.UNDECIDED


def test_peaks_on_the_true_place_bear_it_out():
    assert C5.judge(altered(measured("C5"), "trained_hit", "trained_near")).verdict is Verdict.HOLDS


def test_one_task_alone_is_not_enough():
    kept = altered(measured("C5"), "trained_hit", "trained_near")
    first = next(iter(TASKS))
    broken = [{**run, "trained_hit": 0.3, "trained_near": 0.4} for run in kept[first]]
    assert C5.judge({**kept, first: broken}).verdict is Verdict.FAILS


@pytest.mark.slow
def test_a_quick_run_does_not_contradict_it():
    measured_now = {"quick": True, **C5.measure(Work(quick=True))}
    assert C5.judge(measured_now).verdict is not Verdict.FAILS
