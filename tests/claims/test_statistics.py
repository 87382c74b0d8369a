"""Means, intervals, ranks and exponents against their definitions."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from glassformer.claims.statistics import bootstrap, exponent, mean, rank_correlation, ranks

numbers = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=30)


def test_the_interval_of_a_mean_covers_the_truth_as_often_as_it_says():
    chance = np.random.default_rng(0)
    intervals = [mean(chance.normal(size=5).tolist()) for _ in range(2_000)]
    covered = sum(found.low <= 0 <= found.high for found in intervals) / len(intervals)
    assert covered == pytest.approx(0.95, abs=0.015)


def test_one_value_has_no_interval():
    assert mean([3.0]) == (3.0, -math.inf, math.inf)


def test_the_bootstrap_of_a_mean_is_about_students():
    values = np.random.default_rng(1).normal(size=60)
    drawn, known = bootstrap(values[:, None], lambda rows: float(rows.mean())), mean(values.tolist())
    assert drawn == pytest.approx(known, abs=0.03)


def test_an_interval_of_a_higher_level_is_wider():
    values = np.random.default_rng(1).normal(size=(60, 1))
    narrow, usual, wide = (
        bootstrap(values, lambda rows: float(rows.mean()), level=level) for level in (0.5, 0.95, 0.99)
    )
    assert wide.low < usual.low < narrow.low < narrow.high < usual.high < wide.high
    # Of a mean, half of all draws lie within 0.674 standard errors.
    assert narrow.high - narrow.low == pytest.approx(2 * 0.674 * values.std() / 60**0.5, rel=0.1)


@given(numbers)
def test_equal_values_share_a_rank_and_ranks_add_up(values):
    found = ranks(values)
    assert found.sum() == pytest.approx(len(values) * (len(values) + 1) / 2)
    assert all(
        (a < b) == (x < y)
        for a, x in zip(values, found, strict=True)
        for b, y in zip(values, found, strict=True)
    )


@given(numbers, st.randoms())
def test_rank_correlation_is_that_of_the_ranks(values, chance):
    other = list(values)
    chance.shuffle(other)
    if len(set(values)) == 1:
        assert math.isnan(rank_correlation(values, other))
    else:
        expected = scipy.stats.spearmanr(values, other).statistic
        assert rank_correlation(values, other) == pytest.approx(expected, abs=1e-9)


def test_an_exponent_is_found():
    assert exponent([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2)
