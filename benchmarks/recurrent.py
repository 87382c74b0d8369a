"""Recurrent layers: the written-out step beside the kernel, and a language model beside one of plain torch.

Shapes: b rows, n tokens, V vocabulary.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.models import RecurrentConfig, RecurrentLM
from glassformer.nn.recurrent import Recurrent
from glassformer.nn.state import HiddenState
from glassformer.training.optimiser import make_optimisers
from glassformer.training.runtime import keep_memory
from glassformer.training.settings import TrainConfig

from .side_by_side import compare
from .training import VOCABULARY, step

LAYERS, WIDTH, CONTEXT, BATCH = 2, 192, 64, 12
STEPS = 5  # in a round
KINDS = ("lstm", "gru")


class Plain(nn.Module):
    """The same language model as one writes it with torch alone; the state is carried as in ours."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        layers = {"lstm": nn.LSTM, "gru": nn.GRU}[kind]
        self.layers = layers(WIDTH, WIDTH, LAYERS, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight
        self.state: Tensor | tuple[Tensor, ...] | None = None

    def forward(self, inputs_bn: Tensor) -> Tensor:
        out_bnD, after = self.layers(self.embedding(inputs_bn), self.state)
        self.state = tuple(part.detach() for part in after) if isinstance(after, tuple) else after.detach()
        logits_bnV: Tensor = self.head(out_bnD)
        return logits_bnV


def our_step(kind: str) -> Callable[[], int]:
    shape = {"n_layers": LAYERS, "d_model": WIDTH, "context": CONTEXT}
    model = RecurrentLM(RecurrentConfig(VOCABULARY, kind, **shape)).train()
    carried: list[HiddenState] = [model.new_state(BATCH)]

    def loss(inputs_bn: Tensor, targets_bn: Tensor) -> Tensor:
        logits_bnV, after = model(inputs_bn, carried.pop())
        carried.append(after.detach())
        return F.cross_entropy(logits_bnV.flatten(0, 1), targets_bn.flatten())

    return step(model, loss, make_optimisers(model, TrainConfig())[0], CONTEXT, BATCH)


def plain_step(kind: str) -> Callable[[], int]:
    model = Plain(kind).train()

    def loss(inputs_bn: Tensor, targets_bn: Tensor) -> Tensor:
        return F.cross_entropy(model(inputs_bn).flatten(0, 1), targets_bn.flatten())

    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    return step(model, loss, optimiser, CONTEXT, BATCH)


def both_ways(layer: Recurrent, x_bnD: Tensor, backend: str) -> Callable[[], None]:
    """Forward and backward on one path."""

    def work() -> None:
        layer(x_bnD, backend=backend)[0].sum().backward()

    return work


def several(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(STEPS):
            work()

    return run


def main() -> None:
    keep_memory()
    torch.manual_seed(0)
    shape = f"{WIDTH} units, {CONTEXT} tokens, batch {BATCH}"
    x_bnD = torch.randn(BATCH, CONTEXT, WIDTH)
    for kind in ("rnn", *KINDS):
        layer = Recurrent(kind, WIDTH, WIDTH)
        explicit, fused = (several(both_ways(layer, x_bnD, way)) for way in ("reference", "fused"))
        compare(f"{kind} step by step, {shape}", explicit, "the kernel", fused)
    for kind in KINDS:
        ours, plain = several(our_step(kind)), several(plain_step(kind))
        units = STEPS * BATCH * CONTEXT
        compare(
            f"training {kind} {LAYERS} x {shape}", ours, f"plain torch.nn.{kind.upper()}", plain, units=units
        )


if __name__ == "__main__":
    main()
