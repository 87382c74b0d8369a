"""How many threads repeated work uses: all it was given, or one while other programs use the machine.

The operations of a small model take microseconds, and the threads that share them wait for each other. Where
another program takes one of their cores, a wait lasts until the system lets the other thread run again, and
the work falls to a tenth of its speed or less; a lone thread keeps its own.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import torch

CLEARLY = 1.5  # times as fast must one thread be, for the numbers of a run depend on how many there are
STEPS = 10  # whose mean is watched: who waits for whom changes from one step to the next
TRIAL = 0.2  # seconds of passes each way
PATIENCE = 50  # steps before the next trial, twice as many each time that it changes nothing


class Threads(AbstractContextManager["Threads"]):
    """Watches how long steps take and, where they become slow and now and then, times `trial` both ways.

    `trial` does some of the work and changes nothing; `tell` gets a line for each change. With one thread to
    begin with, or on a GPU, nothing is ever tried. What PyTorch was set to is given back at the end. A trial
    takes `seconds` each way, and one pass at least.
    """

    def __init__(
        self,
        trial: Callable[[], object],
        tell: Callable[[str], None],
        *,
        on_cpu: bool = True,
        seconds: float = TRIAL,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._trial, self._tell, self._clock, self._seconds = trial, tell, clock, seconds
        self._most = self.n = torch.get_num_threads()
        self._watches = on_cpu and self._most > 1
        self._recent, self._fastest = 0.0, float("inf")
        self._since, self._wait = 0, PATIENCE // 2

    def begin(self) -> None:
        """The first choice; `with` makes it, too."""
        if self._watches:
            self._trial()  # the first one makes what the others find ready
            self._choose()

    def __enter__(self) -> "Threads":
        self.begin()
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
        self._recent += seconds
        if self._since % STEPS:
            return
        mean, self._recent = self._recent / STEPS, 0.0
        slow = self.n > 1 and mean > CLEARLY * self._fastest
        if self.n > 1:
            self._fastest = min(self._fastest, mean)
        if slow or self._since >= self._wait:
            self._choose()

    def _choose(self) -> None:
        one, all_of_them = (self._timed(n) for n in (1, self._most))
        chosen = 1 if one * CLEARLY < all_of_them else self._most
        self._wait = 2 * self._wait if chosen == self.n else PATIENCE
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
        passes, started = 0, self._clock()
        while not passes or self._clock() - started < self._seconds:
            self._trial()
            passes += 1
        return (self._clock() - started) / passes
