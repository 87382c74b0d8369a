"""T5 (Raffel et al. 2020), versions 1.0 and 1.1: relative positions as numbers added to the scores, which all
layers of a stack share; scores that are not divided by √d; norms that only rescale; and no bias anywhere."""

from dataclasses import dataclass

from torch import nn

from ..config import require_literals
from ..nn.attention import MultiHeadAttention
from ..nn.blocks import Activation, Block, FeedForward, initialise, make_norm
from ..nn.positions import RelativeBias
from .encoder_decoder import EncoderDecoder, Stack
from .limits import require_sizes


@dataclass(frozen=True)
class T5Config:
    """The shape of a T5. Nothing has a default that a checkpoint could mean otherwise.

    `d_head` need not be d_model / n_heads. `scale_head`: what the head reads is divided by √d_model, as in
    version 1.0. `context` is the longest source or target that it is trained on here, in tokens, and the
    longest target that it writes; positions know no limit.
    """

    vocab_size: int
    context: int
    n_layers: int
    n_decoder_layers: int
    n_heads: int
    d_model: int
    d_head: int
    d_inner: int
    activation: Activation
    norm_eps: float
    n_buckets: int
    max_distance: int
    tie_embeddings: bool
    scale_head: bool
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if self.n_buckets < 4 or self.n_buckets % 4:
            raise ValueError(f"n_buckets must be a multiple of 4, not {self.n_buckets}")
        if self.max_distance <= self.n_buckets // 2:
            raise ValueError(
                f"max_distance = {self.max_distance} must be above half of n_buckets = {self.n_buckets}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")

    @property
    def decoder_layers(self) -> int:
        return self.n_decoder_layers


class T5(EncoderDecoder):
    """The assembly of a T5; what it does with its parts is `EncoderDecoder`."""

    config: T5Config

    def __init__(self, config: T5Config) -> None:
        c = config
        super().__init__(
            config,
            _stack(c, c.n_layers, reads=False),
            _stack(c, c.n_decoder_layers, reads=True),
            head_scale=c.d_model**-0.5 if c.scale_head else 1.0,
        )
        initialise(self, c.n_layers, None)


def _stack(c: T5Config, n_layers: int, reads: bool) -> Stack:
    positions = RelativeBias(
        c.n_heads, n_buckets=c.n_buckets, max_distance=c.max_distance, bidirectional=not reads
    )
    return Stack(positions, (_block(c, reads) for _ in range(n_layers)), _norm(c), c.dropout)


def _block(c: T5Config, reads: bool) -> Block:
    return Block(
        _attention(c),
        FeedForward(c.d_model, c.d_inner, c.activation, bias=False),
        (_norm(c), _norm(c)),
        cross=(_attention(c), _norm(c)) if reads else None,
        dropout=c.dropout,
    )


def _attention(c: T5Config) -> MultiHeadAttention:
    return MultiHeadAttention(c.d_model, c.n_heads, d_head=c.d_head, bias=False, scale=1.0, dropout=c.dropout)


def _norm(c: T5Config) -> nn.Module:
    return make_norm("rmsnorm", c.d_model, c.norm_eps)
