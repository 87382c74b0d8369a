"""How many threads: all of them, unless one is clearly faster; and what was set before is given back."""

from collections.abc import Iterator

import pytest
import torch

from glassformer.threads import PATIENCE, STEPS, Threads

FREE = {1: 0.055, 2: 0.03}  # seconds of a step by threads
BUSY = {1: 0.055, 2: 2.5}


class Machine:
    """A clock on which each trial takes what it takes on a free or a busy machine."""

    def __init__(self, costs: dict[int, float]) -> None:
        self.costs, self.now, self.trials = costs, 0.0, 0
        self.said: list[str] = []

    def trial(self) -> None:
        self.trials += 1
        self.now += self.step()

    def step(self) -> float:
        return self.costs[torch.get_num_threads()]

    def threads(self, *, on_cpu: bool = True) -> Threads:
        return Threads(self.trial, self.said.append, on_cpu=on_cpu, clock=lambda: self.now)

    def run(self, threads: Threads, steps: int) -> None:
        for _ in range(steps):
            threads.stepped(self.step())


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_free_machine_is_used_whole_and_asked_less_and_less_often() -> None:
    machine = Machine(FREE)
    with machine.threads() as threads:
        begun = machine.trials
        machine.run(threads, 31 * PATIENCE)
        asked = (machine.trials - begun) / (4 + 7)  # passes of 0.2 seconds in all, each way
        assert (threads.n, asked, machine.said) == (2, 5, [])


def test_who_begins_on_a_busy_machine_begins_with_one_thread() -> None:
    machine = Machine(BUSY)
    with machine.threads() as threads:
        assert (threads.n, torch.get_num_threads()) == (1, 1)
        assert machine.said == [
            "other programs are using the cores: going on with one thread, which is faster now"
        ]
    assert torch.get_num_threads() == 2


def test_it_makes_way_and_comes_back() -> None:
    machine = Machine(FREE)
    with machine.threads() as threads:
        machine.run(threads, PATIENCE)
        machine.costs = BUSY
        machine.run(threads, STEPS)
        assert threads.n == 1
        machine.costs = FREE
        machine.run(threads, PATIENCE)
        assert threads.n == torch.get_num_threads() == 2
        assert machine.said[-1] == "the cores are free again: going on with 2 threads"


def test_a_machine_that_stays_busy_is_asked_less_and_less_often() -> None:
    machine = Machine(BUSY)
    with machine.threads() as threads:
        begun = machine.trials
        machine.run(threads, 31 * PATIENCE)
        asked = (machine.trials - begun) / 5  # four short passes in one thread, a long one in two
        assert (threads.n, asked) == (1, 5)  # after 1, 2, 4, 8 and 16 times PATIENCE


def test_one_slow_step_changes_nothing() -> None:
    machine = Machine(FREE)
    with machine.threads() as threads:
        machine.run(threads, PATIENCE)
        threads.stepped(5.0)
        machine.run(threads, PATIENCE)
        assert (threads.n, machine.said) == (2, [])


def test_nothing_is_tried_with_one_thread_or_on_a_gpu() -> None:
    machine = Machine(BUSY)
    with machine.threads(on_cpu=False) as threads:
        machine.run(threads, 100)
    torch.set_num_threads(1)
    with machine.threads() as threads:
        machine.run(threads, 100)
    assert machine.trials == 0
