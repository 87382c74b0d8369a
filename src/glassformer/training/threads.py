"""How many threads a training uses: all it was given, or one while other programs use the machine.

The operations of a small model take microseconds, and the threads that share them wait for each other. Where
another program takes one of their cores, a wait lasts until the system lets the other thread run again, and
training falls to a tenth of its speed or less; a lone thread keeps its own.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch

SLOW = 3.0  # times the fastest step: what calls for a trial
CLEARLY = 1.5  # times as fast must one thread be, for the numbers of a run depend on how many there are
PATIENCE = 50  # steps before the next trial, twice as many each time that one thread stays the better


class Threads(AbstractContextManager["Threads"]):
    """Watches how long steps take and, where they become slow, times `trial` both ways.

    `trial` does some of the work and changes nothing; `tell` gets a line for each change. With one thread to
    begin with, or on a GPU, nothing is ever tried. What PyTorch was set to is given back at the end.
    """

    def __init__(
        self,
        trial: Callable[[], object],
        tell: Callable[[str], None],
        *,
        on_cpu: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._trial, self._tell, self._clock = trial, tell, clock
        self._most = self.n = torch.get_num_threads()
        self._watches = on_cpu and self._most > 1
        self._fastest = float("inf")
        self._since, self._wait = 0, PATIENCE

    def __enter__(self) -> "Threads":
        if self._watches:
            self._trial()  # the first one makes what the others find ready
            self._choose()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_num_threads(self._most)

    def stepped(self, seconds: float) -> None:
        """Hear of a step that took so long."""
        if not self._watches:
            return
        self._since += 1
        if self.n == 1:
            due = self._since >= self._wait
        else:
            due = seconds > SLOW * self._fastest and self._since >= min(PATIENCE, self._wait)
            self._fastest = min(self._fastest, seconds)
        if due:
            self._choose()

    def _choose(self) -> None:
        one, all_of_them = (min(self._timed(n), self._timed(n)) for n in (1, self._most))
        chosen = 1 if one * CLEARLY < all_of_them else self._most
        self._wait = 2 * self._wait if chosen == self.n == 1 else PATIENCE
        self._since = 0
        if chosen != self.n:
            self._tell(
                "other programs are using the cores: going on with one thread, which is faster now"
                if chosen == 1
                else f"the cores are free again: going on with {chosen} threads"
            )
        self.n = chosen
        torch.set_num_threads(chosen)

    def _timed(self, n: int) -> float:
        torch.set_num_threads(n)
        started = self._clock()
        self._trial()
        return self._clock() - started
