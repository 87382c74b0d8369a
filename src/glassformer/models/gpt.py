"""GPT, the decoder-only Transformer in all the variants that can be trained here."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from ..config import require_literals
from ..nn.attention import MultiHeadAttention
from ..nn.blocks import GATED, Activation, Block, FeedForward, Norm, Order, make_norm
from ..nn.positions import BASE, Learned, Positions, RelativeBias, Rotary, RotaryStyle, Sinusoidal
from .decoder import Decoder
from .limits import require_rotation, require_sizes


@dataclass(frozen=True)
class GPTConfig:
    """The shape of a GPT. `d_inner` None: 4 d_model, or 8/3 d_model with a gate, which is a third matrix."""

    vocab_size: int
    context: int = 256
    n_layers: int = 4
    n_heads: int = 4
    n_kv_heads: int | None = None
    d_model: int = 128
    d_inner: int | None = None
    activation: Activation = "gelu"
    norm: Norm = "rmsnorm"
    norm_order: Order = "pre"
    norm_eps: float = 1e-5
    positions: Literal["rotary", "learned", "sinusoidal", "relative", "none"] = "rotary"
    rotary_base: float = BASE
    rotary_style: RotaryStyle = "half"
    bias: bool = False
    tie_embeddings: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_rotation("rotary_base", self.rotary_base)
        require_literals(self)
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} must divide d_model = {self.d_model}")
        if self.n_kv_heads is not None and self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_kv_heads = {self.n_kv_heads} must divide n_heads = {self.n_heads}")
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(f"rotary positions need an even d_model / n_heads, not {self.d_head}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def inner(self) -> int:
        """The feed-forward's width."""
        if self.d_inner is not None:
            return self.d_inner
        return 8 * self.d_model // 3 if self.activation in GATED else 4 * self.d_model


class GPT(Decoder):
    """The assembly of a GPT; what it does with its parts is `Decoder`."""

    config: GPTConfig

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(
            config,
            _positions(config),
            (_block(config) for _ in range(config.n_layers)),
            make_norm(config.norm, config.d_model, config.norm_eps, config.bias)
            if config.norm_order == "pre"
            else nn.Identity(),  # a post-norm block already ends in a norm
        )


def _positions(c: GPTConfig) -> Positions:
    match c.positions:
        case "rotary":
            return Rotary(c.d_head, c.rotary_base, c.rotary_style)
        case "learned":
            return Learned(c.context, c.d_model)
        case "sinusoidal":
            return Sinusoidal(c.d_model)
        case "relative":
            return RelativeBias(c.n_heads)
        case "none":
            return Positions()


def _block(c: GPTConfig) -> Block:
    return Block(
        MultiHeadAttention(c.d_model, c.n_heads, n_kv_heads=c.n_kv_heads, bias=c.bias, dropout=c.dropout),
        FeedForward(c.d_model, c.inner, c.activation, bias=c.bias),
        (
            make_norm(c.norm, c.d_model, c.norm_eps, c.bias),
            make_norm(c.norm, c.d_model, c.norm_eps, c.bias),
        ),
        order=c.norm_order,
        dropout=c.dropout,
    )
