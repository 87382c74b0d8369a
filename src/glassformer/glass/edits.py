"""Changing what a model computes, to see what follows: taps that edit, alone or several together.

Every edit names layers and heads from 0, and tokens by their place in the text. In a Transformer that
translates, `of` says which attention is meant: the "encoder"'s or the "decoder"'s own, or "cross", with which
the decoder (the queries) reads the source (the keys). Edits of one pass are applied in the order given, and a
recorder after them sees what they left.

Shapes: b rows, h heads, g key/value heads, n queries, m keys, d width of a head.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..nn.tap import Tap

Edge = tuple[int, int]
"""(query, key): the query's token reads the key's."""

Which = Literal["text", "encoder", "decoder", "cross"]
PLACES: dict[Which, str] = {
    "text": "blocks.{}.attention",
    "encoder": "encoder.blocks.{}.attention",
    "decoder": "decoder.blocks.{}.attention",
    "cross": "decoder.blocks.{}.cross",
}
"""Where the attentions of a layer stand in the tap names: the one of a model with one text, and the three of
one that translates."""


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


def set_value(layer: int, key: int, value: Tensor, head: int | None = None, *, of: Which = "text") -> Edit:
    """Give a token another value vector (d,): in one key/value head, or in all."""
    return _value_edit(of, layer, key, head, lambda old: value.to(old), f"set the value of token {key}")


def scale_value(layer: int, key: int, factor: float, head: int | None = None, *, of: Which = "text") -> Edit:
    """Multiply a token's value vector."""
    said = f"scale the value of token {key} by {factor:g}"
    return _value_edit(of, layer, key, head, lambda old: old * factor, said)


def swap_values(layer: int, first: int, second: int, head: int | None = None, *, of: Which = "text") -> Edit:
    """Exchange the value vectors of two tokens."""

    def change(v_bgmd: Tensor) -> Tensor:
        changed = v_bgmd.clone()
        heads = _slice(head)
        changed[:, heads, first], changed[:, heads, second] = (
            v_bgmd[:, heads, second],
            v_bgmd[:, heads, first],
        )
        return changed

    said = f"swap the values of tokens {first} and {second}{_of(of, layer, head)}"
    return Edit(_name(of, layer, "v"), change, said)


def cut(
    layer: int,
    head: int | None = None,
    *,
    edges: Sequence[Edge] = (),
    key: int | None = None,
    of: Which = "text",
) -> Edit:
    """Cut edges: their scores become -inf, and what is left of each row is renormalised.

    `edges` as pairs, or `key`: that token is read by nobody. All heads if none is named.
    """
    return _edge_edit(of, layer, head, edges, key, "scores", -math.inf, "cut")


def zero(
    layer: int,
    head: int | None = None,
    *,
    edges: Sequence[Edge] = (),
    key: int | None = None,
    of: Which = "text",
) -> Edit:
    """Zero edges: their weights become 0 after the softmax, and nothing is renormalised."""
    return _edge_edit(of, layer, head, edges, key, "weights", 0.0, "zero")


def silence(layer: int, head: int, *, of: Which = "text") -> Edit:
    """Silence a head: its mixture of values is 0 at every token, before W^O."""

    def change(heads_bhnd: Tensor) -> Tensor:
        changed = heads_bhnd.clone()
        changed[:, head] = 0
        return changed

    return Edit(_name(of, layer, "heads"), change, f"silence head {head} of {_layer(of, layer)}")


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


def let_see(
    layer: int, query: int, key: int, visible: bool, head: int | None = None, *, of: Which = "text"
) -> Edit:
    """Change one cell of the mask: whether `query` may look at `key`."""

    def change(allowed_bhnm: Tensor) -> Tensor:
        changed = allowed_bhnm.clone()
        changed[:, _slice(head), query, key] = visible
        return changed

    said = f"{'let' if visible else 'do not let'} token {query} look at token {key}{_of(of, layer, head)}"
    return Edit(_name(of, layer, "mask"), change, said)


def _value_edit(
    of: Which, layer: int, key: int, head: int | None, change: Callable[[Tensor], Tensor], said: str
) -> Edit:
    def edited(v_bgmd: Tensor) -> Tensor:
        changed = v_bgmd.clone()
        changed[:, _slice(head), key] = change(v_bgmd[:, _slice(head), key])
        return changed

    return Edit(_name(of, layer, "v"), edited, said + _of(of, layer, head))


def _edge_edit(
    of: Which,
    layer: int,
    head: int | None,
    edges: Sequence[Edge],
    key: int | None,
    tensor: str,
    value: float,
    verb: str,
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
    return Edit(_name(of, layer, tensor), change, f"{verb} {what}{_of(of, layer, head)}")


def _name(of: Which, layer: int, tensor: str) -> str:
    return f"{PLACES[of].format(layer)}.{tensor}"


def _slice(head: int | None) -> slice | int:
    return slice(None) if head is None else head


def _layer(of: Which, layer: int) -> str:
    return f"layer {layer}" if of == "text" else f"{of} layer {layer}"


def _of(of: Which, layer: int, head: int | None) -> str:
    return f" in {_layer(of, layer)}" + ("" if head is None else f", head {head}")


def noop(layer: int, of: Which = "text") -> list[Edit]:
    """Edits that change nothing, of every tensor that edits touch: the result must stay what it was."""
    names = ("v", "mask", "scores", "weights", "heads")
    return [Edit(_name(of, layer, name), torch.Tensor.clone, f"copy {name}") for name in names]
