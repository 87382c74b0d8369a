"""The encoder-decoder Transformer in all the variants that can be trained here: as it was in 2017 (Vaswani et
al., "Attention Is All You Need"), and as it would be built today."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import nn

from ..config import require_literals
from ..nn.attention import MultiHeadAttention
from ..nn.blocks import GATED, Activation, Block, FeedForward, Norm, Order, initialise, make_norm
from ..nn.positions import Learned, Positions, RelativeBias, Rotary, Sinusoidal
from .encoder_decoder import EncoderDecoder, Stack
from .limits import require_sizes


@dataclass(frozen=True)
class TransformerConfig:
    """The shape of a Transformer. Source and target share one vocabulary; `context` is the longest source or
    target that it is trained on, in tokens, and the longest target that it writes.

    `n_decoder_layers` None: as many as `n_layers`, which are the encoder's. `d_inner` None: 4 d_model, or
    8/3 d_model with a gate. `scale_embeddings`: by √d_model. "sinusoidal_halves" are the same sines and
    cosines in another order, all sines first. With "learned" positions no source may be longer than
    `context`; rotary and relative ones act within source and target, and not between them. `head_bias`: a
    number added to each token's logit.
    """

    vocab_size: int
    context: int = 128
    n_layers: int = 3
    n_decoder_layers: int | None = None
    n_heads: int = 4
    d_model: int = 256
    d_inner: int | None = None
    activation: Activation = "gelu"
    norm: Norm = "rmsnorm"
    norm_order: Order = "pre"
    norm_eps: float = 1e-5
    positions: Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary", "relative", "none"] = (
        "sinusoidal"
    )
    bias: bool = False
    scale_embeddings: bool = True
    tie_embeddings: bool = True
    head_bias: bool = False
    dropout: float = 0.1

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} must divide d_model = {self.d_model}")
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(f"rotary positions need an even d_model / n_heads, not {self.d_head}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def decoder_layers(self) -> int:
        return self.n_layers if self.n_decoder_layers is None else self.n_decoder_layers

    @property
    def inner(self) -> int:
        """The feed-forward's width."""
        if self.d_inner is not None:
            return self.d_inner
        return 8 * self.d_model // 3 if self.activation in GATED else 4 * self.d_model


class Transformer(EncoderDecoder):
    """The assembly of a Transformer; what it does with its parts is `EncoderDecoder`."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig) -> None:
        c = config
        super().__init__(
            config,
            _stack(c, c.n_layers, reads=False),
            _stack(c, c.decoder_layers, reads=True),
            scale=math.sqrt(c.d_model) if c.scale_embeddings else 1.0,
            head_bias=c.head_bias,
        )
        initialise(self, c.n_layers, None)


def _stack(c: TransformerConfig, n_layers: int, reads: bool) -> Stack:
    blocks = (_block(c, reads) for _ in range(n_layers))
    # A post-norm block already ends in a norm.
    final_norm = _norm(c) if c.norm_order == "pre" else nn.Identity()
    return Stack(_positions(c, bidirectional=not reads), blocks, final_norm, c.dropout)


def _positions(c: TransformerConfig, bidirectional: bool) -> Positions:
    match c.positions:
        case "sinusoidal":
            return Sinusoidal(c.d_model)
        case "sinusoidal_halves":
            return Sinusoidal(c.d_model, halves=True)
        case "learned":
            return Learned(c.context, c.d_model)
        case "rotary":
            return Rotary(c.d_head)
        case "relative":
            return RelativeBias(c.n_heads, bidirectional=bidirectional)
        case "none":
            return Positions()


def _block(c: TransformerConfig, reads: bool) -> Block:
    return Block(
        _attention(c),
        FeedForward(c.d_model, c.inner, c.activation, bias=c.bias),
        (_norm(c), _norm(c)),
        cross=(_attention(c), _norm(c)) if reads else None,
        order=c.norm_order,
        dropout=c.dropout,
    )


def _attention(c: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(c.d_model, c.n_heads, bias=c.bias, dropout=c.dropout)


def _norm(c: TransformerConfig) -> nn.Module:
    return make_norm(c.norm, c.d_model, c.norm_eps, c.bias)
