"""Counting what a layer does: products in a row, operations in all, steps from one token to another."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

PRODUCTS = ("AddmmBackward", "MmBackward", "BmmBackward", "BaddbmmBackward")


def products_in_a_row(result: Tensor) -> int:
    """The longest chain of matrix products of which each waits for the one before, on the way to a result
    that has a gradient. The backward pass takes the same chain the other way."""
    longest: dict[Any, int] = {}
    waiting: list[Any] = [result.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [each for each, _ in node.next_functions if each is not None]
        new = [each for each in before if each not in longest]
        if new:
            waiting += new
            continue
        waiting.pop()
        here = node.name().startswith(PRODUCTS)
        longest[node] = here + max((longest[each] for each in before), default=0)
    return longest[result.grad_fn]


def operations(work: Callable[[], object]) -> int:
    """What PyTorch's own counter counts: two for each multiplication with its addition in matrix products,
    and nothing for all else."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


@dataclass(frozen=True)
class Cut:
    """The tap past which no gradient flows at one place: a state is passed on, and a key and a value are
    read, as numbers that depend on nothing."""

    place: int

    def at(self, path: str) -> "Cut":
        return self

    def wants(self, name: str) -> bool:
        return name in ("hidden", "k", "v")

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if not self.wants(name):
            return tensor
        here = torch.arange(tensor.shape[-2])[:, None] == self.place
        return torch.where(here, tensor.detach(), tensor)


def steps_between(layer: Callable[..., Tensor], n: int, d: int) -> int:
    """Steps from the first of n tokens to the last, through a layer from (1, n, d) to the same with a tap:
    one more than the places between them at which a cut leaves nothing of the first one's influence."""
    x = torch.randn(1, n, d, requires_grad=True)

    def influence(place: int) -> float:
        last = layer(x, tap=Cut(place))[0, -1]
        return float(torch.autograd.grad(last.square().sum(), x)[0][0, 0].norm())

    return 1 + sum(influence(place) == 0 for place in range(1, n - 1))
