"""Who may look at whom: boolean tensors, True = may look.

Shapes: b batch, n queries, m keys. Every mask can be broadcast over (..., heads, n, m). Masks are combined
as booleans, never added up, so that no sum of two "minus infinities" can turn into NaN.
"""

from typing import Literal

import torch
from torch import Tensor

Mask = Tensor | Literal["causal"] | None
"""A boolean tensor (..., n, m), or "causal": the last query stands at the last key, or None: all visible."""


def positions(valid_bn: Tensor) -> Tensor:
    """Absolute position of each token in rows with padding: the count of real tokens before it.

    `[0, 0, 1, 1, 1] -> [0, 0, 0, 1, 2]`; padding gets position 0 and must never be looked at.
    """
    return (valid_bn.long().cumsum(-1) - 1).clamp(min=0)


def causal(q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """A query sees keys at its own absolute position and before it. (..., n), (..., m) -> (..., n, m)."""
    return k_pos.unsqueeze(-2) <= q_pos.unsqueeze(-1)


def window(q_pos: Tensor, k_pos: Tensor, size: int) -> Tensor:
    """A query sees keys fewer than `size` positions away, to either side; shapes as for `causal`."""
    if size < 1:
        raise ValueError(f"an attention window must hold at least 1 position, not {size}")
    return (k_pos.unsqueeze(-2) - q_pos.unsqueeze(-1)).abs() < size


def padding(key_valid_bm: Tensor) -> Tensor:
    """No query sees padding. (b, m) -> (b, 1, 1, m), ready to stand beside heads and queries."""
    return key_valid_bm[:, None, None, :]


def combine(*masks: Tensor | None) -> Tensor | None:
    """May look = every mask says so. None means no restriction."""
    given = [mask for mask in masks if mask is not None]
    for mask in given:
        _require_boolean(mask)
    if not given:
        return None
    combined = given[0]
    for mask in given[1:]:
        combined = combined & mask
    return combined


def causal_places(
    n: int, m: int, valid_bm: Tensor | None = None, device: torch.device | None = None
) -> tuple[Tensor, Tensor, Mask]:
    """Positions of the n newest of m tokens, positions of all m, and the causal mask between them.

    Without padding (n,), (m,) and "causal"; with it (b, n), (b, m) and a boolean mask (b, 1, n, m).
    """
    if valid_bm is None:
        k_pos = torch.arange(m, device=device)
        return k_pos[m - n :], k_pos, "causal"
    k_pos = positions(valid_bm)
    q_pos = k_pos[:, m - n :]
    return q_pos, k_pos, combine(causal(q_pos, k_pos).unsqueeze(1), padding(valid_bm))


def dense(mask: Mask, n: int, m: int, device: torch.device | None = None) -> Tensor | None:
    """The mask as a boolean tensor (..., n, m), checked against the lengths; None if all is visible.

    "causal" is aligned bottom-right: query i of n sees the keys up to i + (m - n), so that new tokens see
    all that a cache already holds. Raises ValueError where a mask is no boolean or has other lengths.
    """
    if mask is None:
        return None
    if isinstance(mask, str):
        if mask != "causal":
            raise ValueError(f"unknown mask {mask!r}; say 'causal', None, or give a boolean tensor")
        if n > m:
            raise ValueError(f"a causal mask needs a key for every query: {n} queries, {m} keys")
        return causal(torch.arange(m - n, m, device=device), torch.arange(m, device=device))
    _require_boolean(mask)
    if mask.dim() < 2 or mask.shape[-1] != m or mask.shape[-2] not in (1, n):
        raise ValueError(f"a mask must end in ({n} or 1 queries, {m} keys), not {tuple(mask.shape)}")
    return mask


def _require_boolean(mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(f"a mask must be boolean (True = may look), not {mask.dtype}")
