"""Two ways to do the same work, run in turn, and the ratio of their speeds with its spread."""

import statistics
import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(
    what: str, ours: Callable[[], object], peer_name: str, peer: Callable[[], object], rounds: int = 9
) -> None:
    """Print the median seconds of both and the ratio peer/ours, pair by pair (above 1: ours is faster)."""
    ours(), peer()  # the first round warms up and does not count
    pairs = []
    for i in range(rounds):
        if i % 2:  # who goes first changes, so that neither always follows a warm or a busy moment
            b, a = seconds(peer), seconds(ours)
        else:
            a, b = seconds(ours), seconds(peer)
        pairs.append((a, b))
    ratios = sorted(b / a for a, b in pairs)
    print(
        f"{what}: ours {statistics.median(a for a, _ in pairs):.4g} s, "
        f"{peer_name} {statistics.median(b for _, b in pairs):.4g} s, "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )
