"""What a model remembers between calls, as a value that the caller owns.

`logits, state = model(tokens, state)`. An old state stays good: two continuations of the same state do not
see each other, although the room for them is set aside in advance and shared as long as that is safe.

Shapes: b rows, g key/value heads, m slots in use, d width of a head; L layers times directions, H width of a
hidden state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor


class State(Protocol):
    """What the states of all models have in common. `length` counts the tokens seen, padding included."""

    @property
    def batch(self) -> int: ...
    @property
    def length(self) -> int: ...
    def reorder(self, rows: Tensor) -> Self: ...


@dataclass(frozen=True, eq=False)
class HiddenState:
    """What recurrent layers remember: as much after a thousand tokens as after one.

    `hidden` (L, b, H), lowest layer first, of each layer the way right first; `cell` alike, for an LSTM.
    """

    hidden: Tensor
    cell: Tensor | None = None
    length: int = 0

    @property
    def batch(self) -> int:
        return self.hidden.shape[1]

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """(hidden,), or (hidden, cell)."""
        return (self.hidden,) if self.cell is None else (self.hidden, self.cell)

    def after(self, n: int, hidden: Tensor, cell: Tensor | None = None) -> "HiddenState":
        """These values as the state n tokens on."""
        return HiddenState(hidden, cell, self.length + n)

    def reorder(self, rows: Tensor) -> "HiddenState":
        """The state whose row i is this one's row `rows[i]`; rows may repeat or be left out."""
        return self.after(0, *(part.index_select(1, rows) for part in self.parts))

    def detach(self) -> "HiddenState":
        """The same values, through which no gradient flows back."""
        return self.after(0, *(part.detach() for part in self.parts))

    def part(self, first: int, count: int) -> "HiddenState":
        """The state of so many layers (times directions) from one on."""
        return self.after(0, *(part.narrow(0, first, count) for part in self.parts))

    @staticmethod
    def joined(states: Sequence["HiddenState"]) -> "HiddenState":
        """The states of several layers as one."""
        parts = zip(*(state.parts for state in states), strict=True)
        return states[0].after(0, *map(torch.cat, parts))


@dataclass
class _Room:
    """Slots for keys and values of all layers, and how many of them somebody has claimed."""

    k: Tensor  # (layers, b, g, capacity, d)
    v: Tensor
    claimed: int


class LayerCache:
    """One layer's part of a state during one forward pass: `k` and `v` (b, g, m, d) of all tokens. Those of
    the new ones, from `start` on, are still to be written."""

    def __init__(self, k: Tensor, v: Tensor, start: int) -> None:
        self.k, self.v, self.start = k, v, start

    def append(self, k_new: Tensor, v_new: Tensor) -> tuple[Tensor, Tensor]:
        """Write the new keys and values (b, g, n, d); return all of them (b, g, m, d)."""
        if torch.is_grad_enabled() and (k_new.requires_grad or v_new.requires_grad):
            raise RuntimeError("a state is for running a model, not for training it: use torch.no_grad()")
        self.k.narrow(2, self.start, k_new.shape[2]).copy_(k_new)
        self.v.narrow(2, self.start, v_new.shape[2]).copy_(v_new)
        return self.k, self.v


class KVState:
    """Keys and values of every token seen so far, for every layer.

    `length` counts slots, padding included; `valid` (b, length) says which hold real tokens, None = all.
    """

    def __init__(self, room: _Room, length: int, start: int, valid: Tensor | None) -> None:
        self._room, self.length, self._start, self.valid = room, length, start, valid

    @classmethod
    def empty(
        cls,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        d_head: int,
        capacity: int,
        *,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> "KVState":
        """Room for `capacity` tokens in each of `batch` rows; it grows by itself beyond that."""
        shape = (n_layers, batch, n_kv_heads, capacity, d_head)
        k, v = (torch.empty(shape, device=device, dtype=dtype) for _ in range(2))
        room = _Room(k, v, claimed=0)
        return cls(room, 0, 0, None)

    @property
    def batch(self) -> int:
        return self._room.k.shape[1]

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        """Keys and values (layers, b, g, length, d) of the slots in use."""
        return self._room.k.narrow(3, 0, self.length), self._room.v.narrow(3, 0, self.length)

    def extended(self, n: int, valid_bn: Tensor | None = None) -> "KVState":
        """A new state with n more slots, which the layers fill through `layer(i).append`."""
        length = self.length + n
        room = self._room
        if room.claimed != self.length or length > room.k.shape[3]:
            fits = length <= room.k.shape[3]
            room = self._moved(room.k.shape[3] if fits else 2 * length)
        room.claimed = length
        return KVState(room, length, self.length, self._joined_valid(n, valid_bn))

    def layer(self, i: int) -> LayerCache:
        k, v = self.parts
        return LayerCache(k[i], v[i], self._start)

    def reorder(self, rows: Tensor) -> "KVState":
        """The state whose row i is this one's row `rows[i]`; rows may repeat or be left out."""
        room = _Room(
            self._room.k.index_select(1, rows), self._room.v.index_select(1, rows), claimed=self.length
        )
        valid = None if self.valid is None else self.valid.index_select(0, rows)
        return KVState(room, self.length, self._start, valid)

    def _moved(self, capacity: int) -> _Room:
        """A copy of the slots in use with room for `capacity`."""
        old = self._room
        shape = (*old.k.shape[:3], capacity, old.k.shape[4])
        room = _Room(old.k.new_empty(shape), old.v.new_empty(shape), claimed=self.length)
        room.k[:, :, :, : self.length] = old.k[:, :, :, : self.length]
        room.v[:, :, :, : self.length] = old.v[:, :, :, : self.length]
        return room

    def _joined_valid(self, n: int, valid_bn: Tensor | None) -> Tensor | None:
        if self.valid is None and valid_bn is None:
            return None
        device = self._room.k.device
        before = self.valid
        if before is None:
            before = torch.ones(self.batch, self.length, dtype=torch.bool, device=device)
        if valid_bn is None:
            valid_bn = torch.ones(self.batch, n, dtype=torch.bool, device=device)
        return torch.cat((before, valid_bn), 1)
