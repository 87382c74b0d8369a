"""Where a token stands. Each kind acts at one of three places, and leaves the other two alone:

- `embed`: added to the embeddings (sinusoidal, learned);
- `rotation`: turns queries and keys (rotary);
- `bias`: added to the scores (relative).

`Positions` itself is the fourth kind: none. Positions are absolute, 0 for the first token of a row, and
may differ from row to row. Shapes: b batch, n tokens, m keys, h heads, d width (of a head, for rotary).
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from .scaling import Scaling, Yarn, stretched

BASE = 10_000.0


class Positions(nn.Module):
    """No positions at all: without a mask, attention then cannot tell one order from another."""

    limit: int | None = None
    """How many positions there are; None = any position has its value."""
    limited_by = "learned table"

    def embed(self, x_bnD: Tensor, pos: Tensor) -> Tensor:
        """Embeddings with their positions added. pos (n,) or (b, n)."""
        return x_bnD

    def rotation(self, pos: Tensor) -> Callable[[Tensor], Tensor] | None:
        """What turns queries and keys (b, h, n, d) at these positions, or None. pos (n,) or (b, n)."""
        return None

    def bias(self, q_pos: Tensor, k_pos: Tensor) -> Tensor | None:
        """What is added to the scores: (h, n, m) or (b, h, n, m), or None."""
        return None


def sinusoids(pos: Tensor, d: int, base: float = BASE) -> Tensor:
    """PE[p, 2i] = sin(p ω_i), PE[p, 2i+1] = cos(p ω_i), ω_i = base^(-2i/d). pos (...,) -> (..., d), float64.

    Any width: an odd d ends in a sine without its cosine. Vaswani et al. 2017, section 3.5.
    """
    frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=pos.device) / d)
    angle = pos.double().unsqueeze(-1) * frequency
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)[..., :d]


class Sinusoidal(Positions):
    """Fixed sines and cosines added to the embeddings; `halves`: all the sines, then all the cosines, as some
    published models have them."""

    def __init__(self, d_model: int, *, halves: bool = False) -> None:
        super().__init__()
        self.d_model, self.halves = d_model, halves

    def embed(self, x_bnD: Tensor, pos: Tensor) -> Tensor:
        distinct, where = (pos, None) if pos.dim() == 1 else torch.unique(pos, return_inverse=True)
        table_nD = sinusoids(distinct, self.d_model).to(x_bnD.dtype)
        if self.halves:
            table_nD = torch.cat((table_nD[:, 0::2], table_nD[:, 1::2]), -1)
        return x_bnD + (table_nD if where is None else table_nD[where])


class Learned(Positions):
    """A trained vector per position, and none past the end of its table."""

    def __init__(self, limit: int, d_model: int) -> None:
        super().__init__()
        self.limit = limit
        self.table = nn.Embedding(limit, d_model)

    def embed(self, x_bnD: Tensor, pos: Tensor) -> Tensor:
        offset_nD: Tensor = self.table(pos)
        return x_bnD + offset_nD


RotaryStyle = Literal["half", "interleaved"]


def rotate(x: Tensor, pos: Tensor, base: float = BASE, style: RotaryStyle = "half") -> Tensor:
    """Turn each pair of coordinates of x (b, h, n, d) by pos · base^(-2i/d). pos (n,) or (b, n).

    Pairs are (i, i + d/2) for "half", (2i, 2i + 1) for "interleaved"; checkpoints come in both and the two
    cannot be told apart by shape. Su et al. 2021, "RoFormer".
    """
    return _turn(x, *_angles(pos, x.shape[-1], base, None, x.dtype), style)


def _angles(
    pos: Tensor, d: int, base: float, scaling: Scaling | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Cosine and sine (…, n, d/2), in float32 at least: bf16 cannot tell position 1000 from 1001."""
    dtype = torch.promote_types(dtype, torch.float32)
    # Rounded as in the programs that trained published checkpoints: at position 1000, half a unit in the
    # last place of a frequency is 1e-4 of its angle.
    frequency = 1 / base ** (torch.arange(0, d, 2, dtype=dtype, device=pos.device) / d)
    angle = pos.to(dtype).unsqueeze(-1) * stretched(frequency, scaling)
    if pos.dim() == 2:
        angle = angle.unsqueeze(1)  # (b, 1, n, d/2): the same for every head
    length = scaling.attention_factor if isinstance(scaling, Yarn) else 1.0
    return angle.cos() * length, angle.sin() * length


def _turn(x: Tensor, cos: Tensor, sin: Tensor, style: RotaryStyle) -> Tensor:
    wide = x.to(cos.dtype)
    if style == "half":
        first, second = wide.chunk(2, -1)
    else:
        first, second = wide[..., 0::2], wide[..., 1::2]
    turned = first * cos - second * sin, second * cos + first * sin
    joined = torch.cat(turned, -1) if style == "half" else torch.stack(turned, -1).flatten(-2)
    return joined.to(x.dtype)


class Rotary(Positions):
    """RoPE: queries and keys are turned, so that their product depends on their distance alone."""

    limited_by = "range of its frequencies"

    def __init__(
        self,
        d_head: int,
        base: float = BASE,
        style: RotaryStyle = "half",
        *,
        scaling: Scaling | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__()
        if d_head % 2:
            raise ValueError(f"rotary positions turn pairs, so a head's width must be even, not {d_head}")
        self.d_head, self.base, self.style, self.scaling, self.limit = d_head, base, style, scaling, limit

    def rotation(self, pos: Tensor) -> "Turn":
        return Turn(self, pos)

    def angles(self, pos: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosine and sine (…, n, d/2) of each pair's angle."""
        return _angles(pos, self.d_head, self.base, self.scaling, dtype)


class Turn:
    """Turns queries and keys (b, h, n, d) at given positions by angles (n, d/2) or (b, 1, n, d/2)."""

    def __init__(self, positions: Rotary, pos: Tensor) -> None:
        self._positions, self._pos, self.style = positions, pos, positions.style
        self.cos, self.sin = positions.angles(pos, torch.get_default_dtype())

    def __call__(self, x: Tensor) -> Tensor:
        if x.dtype == torch.float64 != self.cos.dtype:
            return _turn(x, *self._positions.angles(self._pos, x.dtype), self.style)
        return _turn(x, self.cos, self.sin, self.style)


def relative_buckets(distance: Tensor, n_buckets: int, max_distance: int, bidirectional: bool) -> Tensor:
    """T5's bucket for each distance = key position - query position.

    Half of the buckets hold one distance each, the rest grow logarithmically up to `max_distance`; beyond
    it all share the last. Bidirectional: the upper half of the buckets is for keys to the right; otherwise
    those all fall into bucket 0. Raffel et al. 2020, "T5", section 2.1.
    """
    offset = torch.zeros_like(distance)
    if bidirectional:
        n_buckets //= 2
        offset = (distance > 0).long() * n_buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = n_buckets // 2
    ratio = distance.clamp(min=exact).float() / exact
    spread = ratio.log() / math.log(max_distance / exact) * (n_buckets - exact)
    far = (exact + spread.long()).clamp(max=n_buckets - 1)
    return offset + torch.where(distance < exact, distance, far)


class RelativeBias(Positions):
    """T5: a learned number per head and bucket of distance, added to the scores of every layer."""

    def __init__(
        self, n_heads: int, *, n_buckets: int = 32, max_distance: int = 128, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.n_buckets, self.max_distance, self.bidirectional = n_buckets, max_distance, bidirectional
        self.table = nn.Embedding(n_buckets, n_heads)

    def bias(self, q_pos: Tensor, k_pos: Tensor) -> Tensor:
        distance = k_pos.unsqueeze(-2) - q_pos.unsqueeze(-1)  # (..., n, m)
        bucket = relative_buckets(distance, self.n_buckets, self.max_distance, self.bidirectional)
        values: Tensor = self.table(bucket)
        return values.movedim(-1, -3)  # (..., h, n, m)
