"""Seconds of work: that all of it is run in turn, and what is made of them."""

import pytest
import torch

from glassformer.claims.timing import growth, ratio, seconds, typical


def test_all_is_run_in_every_round_on_one_thread_and_threads_are_given_back(monkeypatch):
    monkeypatch.setattr("glassformer.claims.timing.LEAST", 0.0)
    before, run = torch.get_num_threads(), []
    found = seconds([lambda: run.append(("a", torch.get_num_threads())), lambda: run.append(("b", 1))], 3)
    assert [len(of_work) for of_work in found] == [3, 3]
    assert [name for name, _ in run[-6:]] == ["a", "b", "b", "a", "a", "b"]
    assert {threads for _, threads in run} == {1}
    assert torch.get_num_threads() == before


def test_growth_has_an_interval_of_the_rounds():
    sizes = [1, 2, 4]
    assert growth(sizes, [[s**2, 3 * s**2] for s in sizes]) == pytest.approx((2, 2, 2))
    noisy = growth(sizes, [[s**1.0, s**2.0] for s in sizes])
    assert noisy.low < 1 < noisy.mean < 2 < noisy.high


def test_one_disturbed_round_moves_no_median():
    assert typical([1.0, 1.0, 1.0, 90.0]).mean == 1
    assert ratio([2.0, 4.0], [1.0, 2.0]).mean == 2
