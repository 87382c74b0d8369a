"""Changing what a model computes, to see what follows: taps that edit, alone or several together.

Every edit names layers and heads from 0, and tokens by their place in the text. Edits of one pass are applied
in the order given, and a recorder after them sees what they left.

Shapes: b rows, h heads, g key/value heads, n queries, m keys, d width of a head.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..nn.tap import Tap

Edge = tuple[int, int]
"""(query, key): the query's token reads the key's."""


@dataclass(frozen=True)
class Edit:
    """One change of one named tensor; `said` is the change in words."""

    name: str
    change: Callable[[Tensor], Tensor]
    said: str


@dataclass(frozen=True)
class Editor:
    """The tap that applies edits."""

    edits: tuple[Edit, ...]
    path: str = ""

    def at(self, path: str) -> "Editor":
        return Editor(self.edits, f"{self.path}{path}.")

    def wants(self, name: str) -> bool:
        return any(edit.name == self.path + name for edit in self.edits)

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        for edit in self.edits:
            if edit.name == self.path + name:
                tensor = edit.change(tensor)
        return tensor


@dataclass(frozen=True)
class Chain:
    """Several taps as one: each sees what those before it returned."""

    taps: tuple[Tap, ...]

    def at(self, path: str) -> "Chain":
        return Chain(tuple(tap.at(path) for tap in self.taps))

    def wants(self, name: str) -> bool:
        return any(tap.wants(name) for tap in self.taps)

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        for tap in self.taps:
            tensor = tap(name, tensor)
        return tensor


def set_value(layer: int, key: int, value: Tensor, head: int | None = None) -> Edit:
    """Give a token another value vector (d,): in one key/value head, or in all."""
    return _value_edit(layer, key, head, lambda old: value.to(old), f"set the value of token {key}")


def scale_value(layer: int, key: int, factor: float, head: int | None = None) -> Edit:
    """Multiply a token's value vector."""
    return _value_edit(
        layer, key, head, lambda old: old * factor, f"scale the value of token {key} by {factor:g}"
    )


def swap_values(layer: int, first: int, second: int, head: int | None = None) -> Edit:
    """Exchange the value vectors of two tokens."""

    def change(v_bgmd: Tensor) -> Tensor:
        changed = v_bgmd.clone()
        heads = _slice(head)
        changed[:, heads, first], changed[:, heads, second] = (
            v_bgmd[:, heads, second],
            v_bgmd[:, heads, first],
        )
        return changed

    said = f"swap the values of tokens {first} and {second}{_of(layer, head)}"
    return Edit(_name(layer, "v"), change, said)


def cut(layer: int, head: int | None = None, *, edges: Sequence[Edge] = (), key: int | None = None) -> Edit:
    """Cut edges: their scores become -inf, and what is left of each row is renormalised.

    `edges` as pairs, or `key`: that token is read by nobody. All heads if none is named.
    """
    return _edge_edit(layer, head, edges, key, "scores", -math.inf, "cut")


def zero(layer: int, head: int | None = None, *, edges: Sequence[Edge] = (), key: int | None = None) -> Edit:
    """Zero edges: their weights become 0 after the softmax, and nothing is renormalised."""
    return _edge_edit(layer, head, edges, key, "weights", 0.0, "zero")


def silence(layer: int, head: int) -> Edit:
    """Silence a head: its mixture of values is 0 at every token, before W^O."""

    def change(heads_bhnd: Tensor) -> Tensor:
        changed = heads_bhnd.clone()
        changed[:, head] = 0
        return changed

    return Edit(_name(layer, "heads"), change, f"silence head {head} of layer {layer}")


def patch(name: str, tensor: Tensor, tokens: Iterable[int] | None = None) -> Edit:
    """Put in an activation from another run, whole or at some tokens only.

    `name` is a tap name, `tensor` what another trace recorded under it. Tokens lie on the last axis but one.
    Raises ValueError where the shapes differ.
    """
    places = None if tokens is None else sorted(set(tokens))

    def change(old: Tensor) -> Tensor:
        if old.shape != tensor.shape:
            raise ValueError(f"{name} has shape {tuple(old.shape)} here, the patch {tuple(tensor.shape)}")
        if places is None:
            return tensor.to(old, copy=True)
        changed = old.clone()
        changed[..., places, :] = tensor[..., places, :].to(old)
        return changed

    where = "" if places is None else f" at tokens {', '.join(map(str, places))}"
    return Edit(name, change, f"patch {name}{where}")


def let_see(layer: int, query: int, key: int, visible: bool, head: int | None = None) -> Edit:
    """Change one cell of the mask: whether `query` may look at `key`."""

    def change(allowed_bhnm: Tensor) -> Tensor:
        changed = allowed_bhnm.clone()
        changed[:, _slice(head), query, key] = visible
        return changed

    said = f"{'let' if visible else 'do not let'} token {query} look at token {key}{_of(layer, head)}"
    return Edit(_name(layer, "mask"), change, said)


def _value_edit(
    layer: int, key: int, head: int | None, change: Callable[[Tensor], Tensor], said: str
) -> Edit:
    def edited(v_bgmd: Tensor) -> Tensor:
        changed = v_bgmd.clone()
        changed[:, _slice(head), key] = change(v_bgmd[:, _slice(head), key])
        return changed

    return Edit(_name(layer, "v"), edited, said + _of(layer, head))


def _edge_edit(
    layer: int, head: int | None, edges: Sequence[Edge], key: int | None, tensor: str, value: float, verb: str
) -> Edit:
    if bool(edges) == (key is not None):
        raise ValueError(f"{verb} takes either edges or a key")

    def change(old_bhnm: Tensor) -> Tensor:
        changed = old_bhnm.clone()
        if key is not None:
            changed[:, _slice(head), :, key] = value
        for query, seen in edges:
            changed[:, _slice(head), query, seen] = value
        return changed

    what = f"token {key} as a key" if key is not None else ", ".join(f"{q}→{k}" for q, k in edges)
    return Edit(_name(layer, tensor), change, f"{verb} {what}{_of(layer, head)}")


def _name(layer: int, tensor: str) -> str:
    return f"blocks.{layer}.attention.{tensor}"


def _slice(head: int | None) -> slice | int:
    return slice(None) if head is None else head


def _of(layer: int, head: int | None) -> str:
    return f" in layer {layer}" + ("" if head is None else f", head {head}")


def noop(layer: int) -> list[Edit]:
    """Edits that change nothing, of every tensor that edits touch: the result must stay what it was."""
    names = ("v", "mask", "scores", "weights", "heads")
    return [Edit(_name(layer, name), torch.Tensor.clone, f"copy {name}") for name in names]
