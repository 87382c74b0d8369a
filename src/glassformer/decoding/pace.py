"""In how many threads each step of writing runs; what PyTorch is set to is as before between two steps.

A pass through the kernel has one thread, which no other program can keep waiting. Where products are
PyTorch's own (many rows, a long prompt, no compiler), `Threads` watches whether sharing them pays.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import torch

from ..models import LanguageModel
from ..threads import Threads
from .prepare import is_quick

TRIAL = 0.005  # seconds each way: a few tokens' time
TRIAL_TOKENS = 16
Result = TypeVar("Result")


class Pace:
    """Runs steps of a model."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._threads: Threads | None = None

    def step(self, work: Callable[[], Result], rows: int, tokens: int) -> Result:
        """`work()`, a pass over so many rows of so many tokens each."""
        before = torch.get_num_threads()
        try:
            if is_quick(self._model, rows * tokens):
                torch.set_num_threads(1)
                return work()
            threads = self._watched()
            torch.set_num_threads(threads.n)
            started = time.perf_counter()
            result = work()
            if tokens == 1:  # a prompt's pass takes as long as the prompt is
                threads.stepped(time.perf_counter() - started)
            return result
        finally:
            torch.set_num_threads(before)

    def _watched(self) -> Threads:
        if self._threads is None:
            block, weight = self._model.blocks[0], self._model.embedding.weight
            x_bnD = weight.new_zeros(1, TRIAL_TOKENS, weight.shape[1])
            on_cpu = weight.device.type == "cpu"
            self._threads = Threads(lambda: block(x_bnD), lambda _: None, on_cpu=on_cpu, seconds=TRIAL)
            self._threads.begin()
        return self._threads
