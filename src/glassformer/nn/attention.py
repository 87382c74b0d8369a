"""Scaled dot-product attention: the formula itself, its fused twin, and the multi-head module.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2. Row vectors throughout: q_i = x_i W^Q, where
W^Q is `query.weight.T`.

Shapes: b batch, n queries, m keys, h query heads, g key/value heads (g divides h), d width of a head
(d_k for q and k, d_v for v), D model width.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import masks
from .masks import Mask
from .state import LayerCache
from .tap import Tap

Backend = Literal["auto", "reference", "fused"]

WEIGHT_NAMES = ("mask", "scores", "weights")
"""Tap names that the fused path cannot serve."""


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask = None,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    backend: Backend = "auto",
    tap: Tap | None = None,
) -> Tensor:
    """softmax(q kᵀ · scale + bias, over the visible keys) v.

    q (..., h, n, d_k), k (..., g, m, d_k), v (..., g, m, d_v) -> (..., h, n, d_v). With g < h, each key head
    serves h/g neighbouring query heads. `scale` is 1/√d_k unless given. `bias` is added to the scores and
    broadcasts over (..., h, n, m). `mask`: see `masks.Mask`. A query that may look nowhere gets output 0,
    weights 0 and finite gradients. `dropout` is the probability that a weight is dropped; it acts whenever
    it is above 0, so callers pass 0 outside training.

    Backend "reference" computes scores, weights and output one after the other, the softmax in float32 at
    least; "fused" hands all to `scaled_dot_product_attention`, which never shows the weights; "auto" is
    fused unless `tap` wants the mask, scores or weights, which takes the reference path.

    Raises ValueError for shapes that do not fit, a mask that is no boolean, and a tap on a fused path.
    """
    _check_shapes(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    wants_weights = tap is not None and any(tap.wants(name) for name in WEIGHT_NAMES)
    if wants_weights and backend == "fused":
        raise ValueError("the fused backend never forms scores or weights: tap them with 'reference'")
    only_weights = tap is not None and tap.wants("weights") and not (tap.wants("mask") or tap.wants("scores"))
    square = mask == "causal" and bias is None and q.shape[-2] == k.shape[-2]
    if backend == "auto" and only_weights and square:
        return _causal_weights(q, k, v, scale, dropout, tap)
    if backend == "reference" or wants_weights:
        return _reference(q, k, v, mask, scale, bias, dropout, tap)
    return _fused(q, k, v, mask, scale, bias, dropout)


def _reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Mask,
    scale: float,
    bias: Tensor | None,
    dropout: float,
    tap: Tap | None,
) -> Tensor:
    k, v = _share_heads(q, k), _share_heads(q, v)
    scores = (q * scale) @ k.transpose(-2, -1)  # (..., h, n, m)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if bias is not None:
        scores = scores + bias
    allowed = masks.dense(mask, q.shape[-2], k.shape[-2], q.device)
    if tap is not None and tap.wants("mask"):
        everywhere = torch.ones((), dtype=torch.bool, device=q.device)
        allowed = tap("mask", (everywhere if allowed is None else allowed).expand(scores.shape))
    if allowed is not None:
        scores.masked_fill_(~allowed, -math.inf)  # in place: scores are large, and nobody else has them yet
    if tap is not None:
        scores = tap("scores", scores)
    tapped = tap is not None and (tap.wants("mask") or tap.wants("scores"))
    if isinstance(mask, Tensor) or bias is not None or tapped:
        # A row of nothing but -inf would turn to NaN inside the softmax and stay NaN in its gradient, so it
        # is neutralised before, not after. Asked of the scores: a tap may have cut edges.
        nowhere = torch.isneginf(scores).all(-1, keepdim=True)
        weights = scores.masked_fill(nowhere, 0).softmax(-1).masked_fill(nowhere, 0)
    else:  # nothing but a causal mask at most: every row sees a key
        weights = scores.softmax(-1)
    if tap is not None:
        weights = tap("weights", weights)
    if dropout > 0:
        weights = F.dropout(weights, dropout)
    return weights.to(v.dtype) @ v


def _fused(
    q: Tensor, k: Tensor, v: Tensor, mask: Mask, scale: float, bias: Tensor | None, dropout: float
) -> Tensor:
    n, m = q.shape[-2], k.shape[-2]
    k, v = _share_heads(q, k), _share_heads(q, v)
    if mask == "causal" and n == 1:
        mask = None  # one new token at the end of a cache sees every key
    # SDPA's own is_causal is aligned top-left: the same thing only when n == m.
    if mask == "causal" and n == m and bias is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout, scale=scale)
    allowed = masks.dense(mask, n, m, q.device)
    if allowed is None:
        additive = None if bias is None else bias.to(q.dtype)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=additive, dropout_p=dropout, scale=scale)
    # What a fused kernel makes of a row that may look nowhere differs from one to the next, so such rows
    # look everywhere inside it, and their output is set to 0 after.
    nowhere = ~allowed.any(-1, keepdim=True)
    lowered = allowed | nowhere
    if bias is not None:
        lowered = bias.to(q.dtype).masked_fill(~lowered, -math.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=lowered, dropout_p=dropout, scale=scale)
    return out.masked_fill(nowhere, 0)


def _causal_weights(q: Tensor, k: Tensor, v: Tensor, scale: float, dropout: float, tap: Tap | None) -> Tensor:
    """The reference for a causal mask and as many keys as queries, when nobody asks for scores: in three
    operations over all heads, without a gradient in the memory of the weights alone."""
    n = q.shape[-2]
    k, v = _share_heads(q, k), _share_heads(q, v)
    q_Bnd, k_Bnd, v_Bnd = (x.reshape(-1, n, x.shape[-1]) for x in (q, k, v))  # B: batch and heads together
    future = q.new_full((n, n), -math.inf).triu(1)
    scores_Bnn = torch.baddbmm(future, q_Bnd, k_Bnd.transpose(1, 2), alpha=scale)
    scores_Bnn = scores_Bnn.to(torch.promote_types(scores_Bnn.dtype, torch.float32))
    out = None if torch.is_grad_enabled() else scores_Bnn
    weights = torch.softmax(scores_Bnn, -1, out=out).view(*q.shape[:-1], n)
    if tap is not None:
        weights = tap("weights", weights)
    if dropout > 0:
        weights = F.dropout(weights, dropout)
    return (weights.reshape(-1, n, n).to(v.dtype) @ v_Bnd).view(*q.shape[:-1], v.shape[-1])


def _share_heads(q: Tensor, kv: Tensor) -> Tensor:
    """Repeat key or value heads so that there is one for each query head."""
    if q.dim() < 3 or kv.dim() < 3 or q.shape[-3] == kv.shape[-3]:
        return kv
    return kv.repeat_interleave(q.shape[-3] // kv.shape[-3], dim=-3)


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    of_q, of_k, of_v = tuple(q.shape), tuple(k.shape), tuple(v.shape)
    if of_q[-1] != of_k[-1]:
        wrong = "q and k must share d_k"
    elif of_k[-2] != of_v[-2]:
        wrong = "k and v must have one row per key"
    elif of_k[:-2] != of_v[:-2]:
        wrong = "k and v must have the same batch and heads"
    elif len(of_q) >= 3 and len(of_k) >= 3 and of_q[-3] % of_k[-3]:
        wrong = "the key heads must divide the query heads"
    else:
        return
    raise ValueError(f"{wrong}: q {of_q}, k {of_k}, v {of_v}")


class KeysValues(NamedTuple):
    """What attention makes of its memory once, for all queries: each (b, g, m, d)."""

    k: Tensor
    v: Tensor

    def reorder(self, rows: Tensor) -> "KeysValues":
        """Row i of the result is this one's row `rows[i]`; rows may repeat or be left out."""
        return KeysValues(self.k.index_select(0, rows), self.v.index_select(0, rows))


class MultiHeadAttention(nn.Module):
    """h attentions side by side, concatenated and mixed by W^O.

    Self-attention without `memory`, cross-attention with it. Fewer `n_kv_heads` than `n_heads` make grouped
    heads (Ainslie et al. 2023, "GQA"). `forward` returns (b, n, D).
    """

    TAP_NAMES = ("q", "k", "v", *WEIGHT_NAMES, "heads", "output")
    """q, k as they enter the scores, after any norm and rotation; `heads`: each head's mixture before W^O."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        output_bias: bool | None = None,
        qk_norm: tuple[nn.Module, nn.Module] | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        """`output_bias` is `bias` unless given; `qk_norm` are norms over d for each query and each key;
        `scale` is that of the scores, 1/√d unless given."""
        super().__init__()
        if d_head is None:
            if d_model % n_heads:
                raise ValueError(f"d_model = {d_model} cannot be cut into n_heads = {n_heads} equal heads")
            d_head = d_model // n_heads
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads = {n_kv_heads} must divide n_heads = {n_heads}")
        self.n_heads, self.n_kv_heads, self.d_head = n_heads, n_kv_heads, d_head
        self.scale, self.dropout = scale, dropout
        self.query = nn.Linear(d_model, n_heads * d_head, bias=bias)
        self.key = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.value = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.output = nn.Linear(n_heads * d_head, d_model, bias=bias if output_bias is None else output_bias)
        self.query_norm = qk_norm[0] if qk_norm else None
        self.key_norm = qk_norm[1] if qk_norm else None

    def forward(
        self,
        x_bnD: Tensor,
        memory: Tensor | KeysValues | None = None,
        *,
        mask: Mask = None,
        rotate: Callable[[Tensor], Tensor] | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> Tensor:
        """`memory` is (b, m, D), or what `keys_values` made of it; `rotate` turns new queries and keys (see
        `positions.Rotary`); `cache` appends to what it holds."""
        q_bhnd = self._split(self.query(x_bnD), self.n_heads)
        if self.query_norm is not None:
            q_bhnd = self.query_norm(q_bhnd)
        if not isinstance(memory, KeysValues):
            memory = self.keys_values(x_bnD if memory is None else memory)
        k_bgmd, v_bgmd = memory
        if rotate is not None:
            q_bhnd, k_bgmd = rotate(q_bhnd), rotate(k_bgmd)
        if cache is not None:
            k_bgmd, v_bgmd = cache.append(k_bgmd, v_bgmd)
        if tap is not None:
            q_bhnd, k_bgmd, v_bgmd = tap("q", q_bhnd), tap("k", k_bgmd), tap("v", v_bgmd)
        dropout = self.dropout if self.training else 0.0
        heads_bhnd = attend(
            *(q_bhnd, k_bgmd, v_bgmd, mask),
            scale=self.scale,
            bias=bias,
            dropout=dropout,
            backend=backend,
            tap=tap,
        )
        if tap is not None:
            heads_bhnd = tap("heads", heads_bhnd)
        out_bnD: Tensor = self.output(heads_bhnd.transpose(1, 2).flatten(2))
        return tap("output", out_bnD) if tap is not None else out_bnD

    def keys_values(self, memory_bmD: Tensor) -> KeysValues:
        """The keys, before any rotation, and the values of a memory."""
        k_bgmd = self._split(self.key(memory_bmD), self.n_kv_heads)
        if self.key_norm is not None:
            k_bgmd = self.key_norm(k_bgmd)
        return KeysValues(k_bgmd, self._split(self.value(memory_bmD), self.n_kv_heads))

    def _split(self, x_bnD: Tensor, heads: int) -> Tensor:
        b, n, _ = x_bnD.shape
        return x_bnD.view(b, n, heads, self.d_head).transpose(1, 2)  # (b, heads, n, d)
