"""Means with intervals, ranks, fitted lines."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)
"""Student's t at 97.5 % for 1, 2, 3 … degrees of freedom."""


class Mean(NamedTuple):
    """A mean and its interval of 95 %."""

    mean: float
    low: float
    high: float


def mean(values: Sequence[float]) -> Mean:
    """Mean of a few values with Student's interval; of one value there is none, and it is infinite."""
    found = float(np.mean(values))
    n = len(values)
    if n < 2:
        return Mean(found, -math.inf, math.inf)
    t = _T[n - 2] if n - 2 < len(_T) else 1.96 + 2.4 / (n - 1)
    half = t * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Mean(found, found - half, found + half)


def bootstrap(
    columns: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], float],
    draws: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> Mean:
    """A statistic of rows and its interval, of 95 % unless another `level` is given: rows are drawn again
    with replacement (the percentile bootstrap of Efron, 1979)."""
    rows = np.asarray(columns, dtype=float)
    chance = np.random.default_rng(seed)
    drawn = [statistic(rows[chance.integers(len(rows), size=len(rows))]) for _ in range(draws)]
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Mean(float(statistic(rows)), float(low), float(high))


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, where, counts = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: NDArray[np.float64] = (last - (counts - 1) / 2)[where]
    return shared


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's: from -1 to 1, and nan where one side is all equal."""
    x, y = ranks(a), ranks(b)
    x, y = x - x.mean(), y - y.mean()
    spread = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / spread if spread else math.nan


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The p of y ~ x^p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
