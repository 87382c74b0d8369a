"""Small training while another program takes one of two cores, as a share of its speed alone; nanoGPT's the same.

Each measurement is a process of its own; the loop is the product's own, trials for the number of threads included.
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

from .time_to_loss import Silent
from .training import batches, nanogpt, trainer

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


def theirs() -> float:
    """Tokens per second of nanoGPT's eager steps."""
    peer = nanogpt()
    assert peer is not None
    shape = {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "vocab_size": 65}
    model = peer.GPT(peer.GPTConfig(**shape, dropout=0.0, bias=False)).train()
    optimiser = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    work = trainer(model, lambda a, b: model(a, b)[1], optimiser, batches(12, 64)[:1])
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        work()
        steps += 1
    return steps * 12 * 64 / (time.perf_counter() - started)


def measured(who: str, busy: bool) -> float:
    """In a process of its own, with or without another that never rests."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.busy", who], check=True, capture_output=True, text=True
        )
    finally:
        if other is not None:
            other.kill()
            other.wait()
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    who = ["ours"] + (["nanoGPT"] if nanogpt() is not None else [])
    if torch.get_num_threads() < 2:
        print("busy: needs two cores; skipped")
        return
    shares: dict[str, list[float]] = {name: [] for name in who}
    for _ in range(ROUNDS):
        for name in who:
            alone, beside = measured(name, busy=False), measured(name, busy=True)
            shares[name].append(beside / alone)
            print(f"  {name}: alone {alone:,.0f}, beside another program {beside:,.0f} tokens/s", flush=True)
    for name, ratios in shares.items():
        print(
            f"busy machine, {name}: {statistics.median(ratios):.2f} of its speed alone "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps({"ours": ours, "nanoGPT": theirs}[sys.argv[1]]()))
    else:
        main()
