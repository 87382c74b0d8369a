"""Two ways to do the same work, run in turn, and the ratio of their speeds with its spread."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(
    what: str,
    ours: Callable[[], object],
    peer_name: str,
    peer: Callable[[], object],
    rounds: int = 9,
    units: int = 0,
) -> None:
    """Print the median seconds of both and the ratio peer/ours, pair by pair (above 1: ours is faster).

    `units`: how many tokens a round is; then both speeds are told as well."""
    ours(), peer()  # the first round warms up and does not count
    pairs = []
    for i in range(rounds):
        if i % 2:  # who goes first changes, so that neither always follows a warm or a busy moment
            b, a = seconds(peer), seconds(ours)
        else:
            a, b = seconds(ours), seconds(peer)
        pairs.append((a, b))
    ratios = sorted(b / a for a, b in pairs)
    a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
    speeds = f" ({units / a:,.0f} and {units / b:,.0f} tokens/s)" if units else ""
    print(
        f"{what}: ours {a:.4g} s, {peer_name} {b:.4g} s{speeds}, "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


def report_speed(work: Callable[[], int], seconds: float) -> None:
    """Print the units per second of `work`, which returns how many it did; for a process of its own."""
    work(), work()
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        done += work()
    print(json.dumps(done / (time.perf_counter() - started)))


def speed(module: str, who: str, words: Sequence[str] = ()) -> float:
    """What a process of its own reported."""
    command = [sys.executable, "-m", module, who, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def compare_speeds(
    what: str, module: str, peer_name: str, words: Sequence[str] = (), rounds: int = 5
) -> None:
    """Run `module ours` and `module theirs` in turn; print both speeds and their ratio (above 1: ours)."""
    pairs = [(speed(module, "ours", words), speed(module, "theirs", words)) for _ in range(rounds)]
    a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    print(
        f"{what}: ours {a:,.0f}, {peer_name} {b:,.0f} tokens/s, "
        f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )
