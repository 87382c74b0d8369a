"""What C15 counts and times: a layer of an RNN, and a block of attention with its FFN.

Shapes: b = 1 text, n tokens, d width.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from ..nn.attention import MultiHeadAttention, attend
from ..nn.blocks import Block, FeedForward, make_norm
from ..nn.recurrent import Recurrent
from .serial import operations, products_in_a_row
from .timing import Seconds, seconds

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
WIDTHS = (16, 32, 64, 128, 256, 512, 1024)
N, D = 128, 64  # of sweeps over the other
KINDS = ("rnn", "block")
SWEEPS = {"n": [(n, D) for n in LENGTHS], "d": [(N, d) for d in WIDTHS]}


def formula(kind: str, n: int, d: int) -> int:
    """Operations of a layer, two for each multiplication with its addition; the FFN's inner width is 4d."""
    return 4 * n * d * d if kind == "rnn" else 24 * n * d * d + 4 * n * n * d


def layer(kind: str, d: int) -> Callable[..., Tensor]:
    """The layer as a function of x (b, n, d), a backend and a tap."""
    torch.manual_seed(0)
    if kind == "rnn":
        recurrent = Recurrent("rnn", d, d)
        return lambda x, **options: recurrent(x, **options)[0]
    norms = (make_norm("layernorm", d, 1e-5), make_norm("layernorm", d, 1e-5))
    return Block(MultiHeadAttention(d, max(1, d // 64)), FeedForward(d, 4 * d), norms)


def count(kind: str, size: tuple[int, int]) -> int:
    n, d = size
    with torch.device("meta"):
        one, x = layer(kind, d), torch.empty(1, n, d)
    return operations(lambda: one(x, backend="reference"))


def chain_length(kind: str, n: int) -> int:
    return products_in_a_row(layer(kind, D)(torch.randn(1, n, D), backend="reference"))


def time_layers(rounds: int) -> dict[str, Seconds]:
    """Seconds of a forward pass, by kind and sweep and size."""
    works = [
        _quietly(partial(layer(kind, d), torch.randn(1, n, d)))
        for kind in KINDS
        for sizes in SWEEPS.values()
        for n, d in sizes
    ]
    found = iter(seconds(works, rounds))
    return {f"{kind} {over}": [next(found) for _ in SWEEPS[over]] for kind in KINDS for over in SWEEPS}


def _quietly(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with torch.no_grad():
            work()

    return run


def time_terms(rounds: int) -> dict[str, Seconds]:
    """Seconds, by length, of the two terms of a block apart: projections and FFN; scores, softmax and
    mixture, fused and step by step."""
    works = []
    for backend in ("fused", "reference"):
        for n in LENGTHS:
            works.append(_quietly(partial(attend, *torch.randn(3, 1, 1, n, D), backend=backend)))
    attention, ffn = MultiHeadAttention(D, 1), FeedForward(D, 4 * D)

    def linear(x: Tensor) -> None:
        for projection in (attention.query, attention.key, attention.value, attention.output):
            projection(x)
        ffn(x)

    works += [_quietly(partial(linear, torch.randn(1, n, D))) for n in LENGTHS]
    found, size = seconds(works, rounds), len(LENGTHS)
    return {"fused": found[:size], "reference": found[size : 2 * size], "linear": found[2 * size :]}
