"""What C18 trains: stacks of blocks that lack a residual stream or a norm, and what is measured of them.

Shapes: b texts, n places, D width.
"""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import manual
from ..data.batches import Windows
from ..glass.trace import trace
from ..models import GPT, GPTConfig
from ..nn.attention import MultiHeadAttention
from ..nn.blocks import Block, FeedForward, initialise, make_norm
from ..training.settings import TrainConfig
from .training import train

WIDTH, HEADS, CONTEXT, ROWS = 32, 2, 32, 8


class Variant(NamedTuple):
    """What a block has: the residual stream, and a norm before or after each sub-layer."""

    residual: bool
    norm: Literal["none", "pre", "post"]


VARIANTS = {
    "residual, pre": Variant(True, "pre"),
    "residual, post": Variant(True, "post"),
    "residual, none": Variant(True, "none"),
    "none, pre": Variant(False, "pre"),
    "none, post": Variant(False, "post"),
    "none, none": Variant(False, "none"),
}


class Ablated(Block):
    """A block that may lack its residual stream."""

    def __init__(self, variant: Variant) -> None:
        def norm() -> nn.Module:
            return nn.Identity() if variant.norm == "none" else make_norm("layernorm", WIDTH, 1e-5)

        super().__init__(
            MultiHeadAttention(WIDTH, HEADS),
            FeedForward(WIDTH, 4 * WIDTH),
            (norm(), norm()),
            order="post" if variant.norm == "post" else "pre",
        )
        self.residual = variant.residual

    def _residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.residual:
            return super()._residual(x, norm, sublayer)
        return sublayer(norm(x)) if self.order == "pre" else norm(sublayer(x))


def stack(variant: Variant, depth: int, vocabulary: int) -> GPT:
    """A GPT of such blocks, each matrix with the same first variance in all of them: √(2 / (rows + columns))
    (Glorot & Bengio 2010): GPT-2's smaller first values are one more remedy, and would blur the picture. A
    norm after the last block is common to all, so that what is read has the same size."""
    shape = (vocabulary, CONTEXT, depth, HEADS, None, WIDTH)
    model = GPT(GPTConfig(*shape, positions="learned", bias=True, tie_embeddings=False))
    model.blocks = nn.ModuleList(Ablated(variant) for _ in range(depth))
    model.final_norm = make_norm("layernorm", WIDTH, 1e-5)
    initialise(model, depth, None)
    return model


@cache
def text() -> tuple[Any, int, float]:
    """The topics of Python's manual, as letters and blanks: ids, how many there are, and the entropy of
    single letters, which is the least loss of what knows nothing of the context."""
    letters_only = "".join(c if "a" <= c <= "z" else " " for c in manual.text().lower())
    text = " ".join(letters_only.split())
    letters = sorted(set(text))
    shares = [count / len(text) for count in Counter(text).values()]
    ids = np.array([letters.index(letter) for letter in text], dtype=np.uint16)
    return ids, len(letters), -sum(share * math.log(share) for share in shares)


def final_loss(name: str, depth: int, rate: float, seed: int, steps: int) -> float | None:
    """The mean loss of a training's last tenth; None for one that came to no finite loss."""
    ids, letters, _ = text()
    torch.manual_seed(seed)
    model = stack(VARIANTS[name], depth, letters)
    windows = Windows(ids, CONTEXT, seed)

    def of_batch(step: int) -> Tensor:
        batch = windows.batch(step, ROWS)
        return F.cross_entropy(model(batch.inputs)[0].flatten(0, 1), batch.targets.flatten())

    losses = train(model, of_batch, TrainConfig(steps=steps, lr=rate, warmup=steps // 5))
    return float(np.mean(losses[-(steps // 10) :])) if math.isfinite(losses[-1]) else None


def loss_of_frequencies(seed: int, steps: int) -> float:
    """What the text's frequencies of letters would lose in the windows of a training's last tenth: the least
    loss without context there, so that windows that are easy or hard count for neither side."""
    ids, letters, _ = text()
    windows, last = Windows(ids, CONTEXT, seed), range(steps - steps // 10, steps)
    targets = np.concatenate([windows.batch(step, ROWS).targets.numpy().ravel() for step in last])
    shares = np.bincount(ids, minlength=letters) / len(ids)
    return float(-np.log(shares[targets]).mean())


def gradient_by_block(name: str, seed: int, depth: int) -> list[float]:
    """The norm of each block's gradient before any training, the first block's first. In float64, which holds
    what grows or shrinks beyond float32."""
    ids, letters, _ = text()
    torch.manual_seed(seed)
    model = stack(VARIANTS[name], depth, letters).double()
    batch = Windows(ids, CONTEXT, seed).batch(0, ROWS)
    loss = F.cross_entropy(model(batch.inputs)[0].flatten(0, 1), batch.targets.flatten())
    loss.backward()  # type: ignore[no-untyped-call]
    return [
        math.sqrt(sum(float(p.grad.square().sum()) for p in block.parameters() if p.grad is not None))
        for block in model.blocks
    ]


def gap_by_block(name: str, seed: int, depth: int) -> list[float]:
    """The mean of 1 - cosine between the vectors that a block hands on for two places of a text, before any
    training: 0 where they all point the same way."""
    ids, letters, _ = text()
    torch.manual_seed(seed)
    model = stack(VARIANTS[name], depth, letters).double()
    inputs = Windows(ids, CONTEXT, seed).batch(0, ROWS).inputs
    found = trace(model, inputs, "blocks.*.output")
    apart = ~torch.eye(CONTEXT, dtype=torch.bool)
    gaps = []
    for i in range(depth):
        x_bnD = F.normalize(found[f"blocks.{i}.output"], dim=-1)
        differences = x_bnD[:, :, None] - x_bnD[:, None]  # half their squares are exact where cosines are not
        gaps.append(float(differences.square().sum(-1)[:, apart].mean() / 2))
    return gaps
