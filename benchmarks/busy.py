"""Small training while another program takes one of two cores, as a share of its speed alone.

Each measurement is a process of its own; the loop is the product's, its trials of threads included.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from glassformer.training import start
from glassformer.training.loop import fit

from .side_by_side import report_speed, speed
from .time_to_loss import Silent
from .training import SHAPES, nanogpt, their_step

SECONDS, ROUNDS = 15, 3
SETTINGS = [
    "context=64",
    "batch_size=12",
    "sample=0",
    "valid_fraction=0",
    "eval_every=1000000",
    "steps=1000000",
]


def ours() -> float:
    """Tokens per second of the product's loop."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("the quick brown fox jumps over the lazy dog\n" * 4000, encoding="utf-8")
        with start.begun(
            [str(text)], Path(folder) / "run", preset_name="tiny", assignments=SETTINGS
        ) as training:
            end = time.perf_counter() + SECONDS
            fit(training, Silent(), lambda: time.perf_counter() > end)
            return training.progress.tokens / SECONDS


def beside_another(who: str) -> float:
    """A speed while another process never rests."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return speed("benchmarks.busy", who)
    finally:
        other.kill()
        other.wait()


def main() -> None:
    who = ["ours"] + (["nanoGPT"] if nanogpt() is not None else [])
    if torch.get_num_threads() < 2:
        print("busy: needs two cores; skipped")
        return
    shares: dict[str, list[float]] = {name: [] for name in who}
    for _ in range(ROUNDS):
        for name in who:
            alone, beside = speed("benchmarks.busy", name), beside_another(name)
            shares[name].append(beside / alone)
            print(f"  {name}: alone {alone:,.0f}, beside another program {beside:,.0f} tokens/s", flush=True)
    for name, ratios in shares.items():
        print(
            f"busy machine, {name}: {statistics.median(ratios):.2f} of its speed alone "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    if sys.argv[1:]:
        if sys.argv[1] == "ours":
            print(json.dumps(ours()))
        else:
            report_speed(their_step(*SHAPES["4 x 128, context 64, batch 12"]), SECONDS)
    else:
        main()
