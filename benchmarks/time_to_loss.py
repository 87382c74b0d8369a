"""Time to nanoGPT's loss: its own CPU recipe beside the preset `tiny`, on one text, in one run.

nanoGPT trains 4 layers of width 128 with context 64 and batch 12 for 2,000 steps. Ours has the same layers,
width, heads and context, and no more parameters; what differs is what the preset says: rotary positions,
RMSNorm, Muon, its rates and batch. Both losses are those of the whole held-out tenth in windows of 64, of the
same characters. Times are wall time without measuring. DATA names the folder of the text, NANOGPT a
checkout of the peer.
"""

import math
import os
import tempfile
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import torch.nn.functional as F

from glassformer.data.batches import in_order, windows_at
from glassformer.training import start
from glassformer.training.loop import fit

from .training import nanogpt

CONTEXT, BATCH, STEPS, WARMUP, RATE = 64, 12, 2000, 100, 1e-3
THIRD = 270  # steps of ours that take less than a third of the time
OURS = [f"context={CONTEXT}", "sample=0", "valid_fraction=0", "eval_every=1000000"]


class Silent:
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None: ...
    def noted(self, what: str) -> None:
        print(f"  ({what})")


@torch.no_grad()
def held_out_loss(model: torch.nn.Module, tokens: np.ndarray) -> float:
    model.eval()
    total, count = 0.0, 0
    for batch in in_order(tokens, CONTEXT, 64):
        # nanoGPT gives the logits of every place only to those who bring targets.
        inputs, targets = batch.inputs.contiguous(), batch.targets.contiguous()
        logits = (model(inputs, targets) if hasattr(model, "transformer") else model(inputs))[0]
        total += float(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"))
        count += batch.targets.numel()
    return total / count


def theirs(peer: ModuleType, seen: np.ndarray, vocabulary: int) -> tuple[torch.nn.Module, float]:
    """nanoGPT's recipe for a CPU; returns the model and the seconds."""
    torch.manual_seed(1337)
    shape = {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": CONTEXT, "vocab_size": vocabulary}
    model = peer.GPT(peer.GPTConfig(**shape, dropout=0.0, bias=False)).train()
    optimiser = model.configure_optimizers(0.1, RATE, (0.9, 0.99), "cpu")
    chance = np.random.default_rng(1337)
    started = time.perf_counter()
    for step in range(STEPS):
        along = (step - WARMUP) / (STEPS - WARMUP)
        rate = RATE * (
            (step + 1) / (WARMUP + 1) if step < WARMUP else 0.1 + 0.45 * (1 + math.cos(math.pi * along))
        )
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = windows_at(seen, CONTEXT, chance.integers(len(seen) - CONTEXT, size=BATCH).tolist())
        model(batch.inputs.contiguous(), batch.targets.contiguous())[1].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return model, time.perf_counter() - started


def ours(text: Path, folder: Path, steps: int, seed: int = 0) -> tuple[torch.nn.Module, float]:
    settings = [*OURS, f"steps={steps}", f"seed={seed}"]
    with start.begun([str(text)], folder, preset_name="tiny", assignments=settings) as training:
        started = time.perf_counter()
        fit(training, Silent())
        return training.model, time.perf_counter() - started


def main() -> None:
    peer, path = nanogpt(), Path(os.environ.get("DATA", "")) / "tinyshakespeare.txt"
    if peer is None:
        return
    if not path.is_file():
        print("tinyshakespeare.txt: absent (set DATA to its folder); skipped")
        return
    text = path.read_text(encoding="utf-8")
    characters = sorted(set(text))
    ids = np.searchsorted(np.array(characters), np.array(list(text))).astype(np.int64)
    cut = int(0.9 * len(ids))
    model, peer_seconds = theirs(peer, ids[:cut], len(characters))
    peer_loss = held_out_loss(model, ids[cut:])
    n_peer = sum(p.numel() for p in model.parameters())
    print(f"nanoGPT, {n_peer:,} parameters, {STEPS} steps: {peer_seconds:.1f} s, loss {peer_loss:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        # All of the text gives the vocabulary, its first nine tenths are learned from.
        seen = Path(folder) / "seen.txt"
        seen.write_text(text[:cut], encoding="utf-8", newline="\n")
        assert set(text[:cut]) == set(text), "the held-out text has characters of its own"
        whole = 0
        for seed in (0, 1, 2):
            model, seconds = ours(seen, Path(folder) / f"third-{seed}", THIRD, seed)
            loss = held_out_loss(model, ids[cut:])
            n_ours = sum(p.numel() for p in model.parameters())
            whole = int(THIRD * peer_seconds / seconds)
            print(
                f"ours, {n_ours:,} parameters, {THIRD} steps, seed {seed}: {seconds:.1f} s "
                f"({seconds / peer_seconds:.2f} of its time), loss {loss:.4f} ({loss - peer_loss:+.4f})"
            )
        model, seconds = ours(seen, Path(folder) / "whole", whole)
        loss = held_out_loss(model, ids[cut:])
        print(
            f"ours, {whole} steps: {seconds:.1f} s ({seconds / peer_seconds:.2f} of its time), "
            f"loss {loss:.4f} ({loss - peer_loss:+.4f})"
        )


if __name__ == "__main__":
    main()
