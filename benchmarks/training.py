"""Training speed beside nanoGPT: the same architecture, batch and optimiser, eager.

Ours is measured as it trains by default, which on some CPUs takes products in bf16, and then also in fp32, as
nanoGPT computes on every CPU.
Each measurement is a process of its own, in turn, for what a program sets for itself counts too.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Literal

import torch
import torch.nn.functional as F

from glassformer.models import GPT, GPTConfig
from glassformer.training import runtime
from glassformer.training.optimiser import make_optimisers
from glassformer.training.runtime import keep_memory
from glassformer.training.settings import TrainConfig

from .side_by_side import compare_speeds, report_speed

VOCABULARY = 65
SECONDS = 10
SHAPES = {
    "4 x 128, context 64, batch 12": (4, 4, 128, 64, 12),
    "6 x 384, context 256, batch 16": (6, 6, 384, 256, 16),
}


def nanogpt() -> ModuleType | None:
    """The peer's model.py, if NANOGPT names a checkout."""
    path = Path(os.environ.get("NANOGPT", "")) / "model.py"
    if not path.is_file():
        print("nanoGPT: absent (set NANOGPT to a checkout); skipped")
        return None
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def our_step(
    precision: Literal["auto", "fp32"], layers: int, heads: int, width: int, context: int, batch_size: int
) -> Callable[[], int]:
    keep_memory()
    train = TrainConfig(device="cpu", precision=precision)
    where = runtime.choose(train, width)
    shape = {
        "n_layers": layers,
        "n_heads": heads,
        "d_model": width,
        "norm": "layernorm",
        "positions": "learned",
    }
    model = GPT(GPTConfig(VOCABULARY, context=context, **shape)).train()

    def loss(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with where.autocast():
            logits = model(inputs)[0]
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    return step(model, loss, make_optimisers(model, train)[0], context, batch_size)


def their_step(layers: int, heads: int, width: int, context: int, batch_size: int) -> Callable[[], int]:
    peer = nanogpt()
    assert peer is not None
    shape = {
        "n_layer": layers,
        "n_head": heads,
        "n_embd": width,
        "block_size": context,
        "vocab_size": VOCABULARY,
    }
    model = peer.GPT(peer.GPTConfig(**shape, dropout=0.0, bias=False)).train()
    optimiser = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    return step(model, lambda inputs, targets: model(inputs, targets)[1], optimiser, context, batch_size)


def step(
    model: torch.nn.Module,
    loss: Callable[..., torch.Tensor],
    optimiser: torch.optim.Optimizer,
    context: int,
    batch_size: int,
) -> Callable[[], int]:
    """One training step on random tokens; it returns how many."""
    rows = torch.randint(VOCABULARY, (batch_size, context + 1), generator=torch.Generator().manual_seed(0))
    inputs, targets = rows[:, :-1].contiguous(), rows[:, 1:].contiguous()

    def work() -> int:
        loss(inputs, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return inputs.numel()

    return work


def main() -> None:
    if nanogpt() is None:
        return
    for name, (_, _, width, _, _) in SHAPES.items():
        bf16 = runtime.choose(TrainConfig(device="cpu"), width).bf16
        for precision in ("auto", "fp32") if bf16 else ("auto",):
            what = f"training {name}, ours in {'bf16' if bf16 and precision == 'auto' else 'fp32'}"
            compare_speeds(what, "benchmarks.training", "nanoGPT eager", [name, precision], rounds=5)


if __name__ == "__main__":
    if sys.argv[1:]:
        who, name, precision = sys.argv[1:]
        shape = SHAPES[name]
        report_speed(our_step(precision, *shape) if who == "ours" else their_step(*shape), SECONDS)
    else:
        main()
