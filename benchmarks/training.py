"""Training speed beside nanoGPT: the same architecture, batch and optimiser, eager, steps in turn."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F

from glassformer.models import GPT, GPTConfig
from glassformer.training.optimiser import make_optimiser
from glassformer.training.settings import TrainConfig

from .side_by_side import compare

VOCABULARY = 65
STEPS = 20


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


def batches(batch_size: int, context: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(VOCABULARY, (STEPS, batch_size, context + 1), generator=generator)
    return [(row[:, :-1].contiguous(), row[:, 1:].contiguous()) for row in rows]


def trainer(
    model: torch.nn.Module, loss: Callable[..., torch.Tensor], optimiser: torch.optim.Optimizer, data: list
) -> Callable[[], None]:
    def work() -> None:
        for inputs, targets in data:
            loss(inputs, targets).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return work


def measure(peer: ModuleType, layers: int, heads: int, width: int, context: int, batch_size: int) -> None:
    data = batches(batch_size, context)
    config = GPTConfig(
        VOCABULARY,
        context=context,
        n_layers=layers,
        n_heads=heads,
        d_model=width,
        norm="layernorm",
        positions="learned",
    )
    ours = GPT(config).train()

    def our_loss(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(ours(inputs)[0].flatten(0, 1), targets.flatten())

    theirs = peer.GPT(
        peer.GPTConfig(
            block_size=context,
            vocab_size=VOCABULARY,
            n_layer=layers,
            n_head=heads,
            n_embd=width,
            dropout=0.0,
            bias=False,
        )
    ).train()
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == sizes[1], f"not the same architecture: {sizes}"
    their_optimiser = theirs.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    compare(
        f"training {layers} x {width}, context {context}, batch {batch_size}, {STEPS} steps",
        trainer(ours, our_loss, make_optimiser(ours, TrainConfig()), data),
        "nanoGPT eager",
        trainer(theirs, lambda inputs, targets: theirs(inputs, targets)[1], their_optimiser, data),
    )


def main() -> None:
    peer = nanogpt()
    if peer is not None:
        measure(peer, 4, 4, 128, 64, 12)


if __name__ == "__main__":
    main()
