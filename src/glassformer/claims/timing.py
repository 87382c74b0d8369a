"""Seconds of several pieces of work, and what the time grows with."""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import torch

from ..texts import Text
from ..training.runtime import keep_memory
from .figure import Series
from .statistics import Mean, exponent, mean

Seconds = list[list[float]]
"""Of each piece of work, in each round."""

LEAST = 0.002  # seconds of a measurement; shorter work is repeated for so long
CLOCK = time.perf_counter if sys.platform == "win32" else time.thread_time
"""Seconds that the thread has worked, so that those of other programs do not count; on Windows, where that
clock is coarse, those that have passed."""


def seconds(works: Sequence[Callable[[], object]], rounds: int) -> Seconds:
    """Seconds of one call of each, in every round, on one thread, with memory kept as in training. All are
    measured in turn, there and back, so that a busy moment of the machine meets all alike. The first calls
    warm up and do not count."""
    keep_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        calls = [_calls(work) for work in works]
        found: Seconds = [[] for _ in works]
        gc.disable()
        for n in range(rounds):
            order = range(len(works)) if n % 2 == 0 else reversed(range(len(works)))
            for i in order:
                found[i].append(_timed(works[i], calls[i]))
    finally:
        gc.enable()
        torch.set_num_threads(before)
    return found


def _calls(work: Callable[[], object]) -> int:
    work()
    return max(1, round(LEAST / max(_timed(work, 1), 1e-9)))


def _timed(work: Callable[[], object], calls: int) -> float:
    started = CLOCK()
    for _ in range(calls):
        work()
    return (CLOCK() - started) / calls


def typical(seconds: Sequence[float]) -> Mean:
    """The median of the rounds, with their quartiles."""
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return Mean(middle, low, high)


def growth(sizes: Sequence[float], seconds: Seconds) -> Mean:
    """The p of seconds ~ size^p, fitted in each round, with its interval over the rounds."""
    return mean([exponent(sizes, of_round) for of_round in zip(*seconds, strict=True)])


def ratio(of: Sequence[float], to: Sequence[float]) -> Mean:
    """How many times as long one work takes as another, with its interval over the rounds."""
    return mean([a / b for a, b in zip(of, to, strict=True)])


def timed(label: Text, sizes: Sequence[float], found: Seconds) -> Series:
    """Milliseconds by size: medians with quartiles."""
    middle = [typical(of_size) for of_size in found]
    low, high = ([1000 * getattr(m, end) for m in middle] for end in ("low", "high"))
    return Series(label, sizes, [1000 * m.mean for m in middle], low, high)
