"""BERT as an encoder: every token sees every other, and each comes out as a vector.

Devlin et al. 2019, "BERT". Shapes: b batch, n tokens, D model width.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ..config import require_literals
from ..nn import masks
from ..nn.attention import Backend, MultiHeadAttention
from ..nn.blocks import Block, FeedForward, initialise, make_norm
from ..nn.positions import Learned
from ..nn.tap import Tap, names_under
from .limits import require_sizes


@dataclass(frozen=True)
class BertConfig:
    """The shape of a BERT. `n_types` kinds of segments; `pooler`: whether the checkpoint has one."""

    vocab_size: int
    context: int
    n_layers: int
    n_heads: int
    d_model: int
    d_inner: int
    activation: Literal["relu", "gelu", "gelu_tanh"]
    norm_eps: float
    n_types: int
    pooler: bool
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} must divide d_model = {self.d_model}")
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads


class Bert(nn.Module):
    """`hidden = model(tokens)`; see `forward`. `pooler` is kept for export and takes no part in it."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = Learned(config.context, config.d_model)
        self.types = nn.Embedding(config.n_types, config.d_model)
        self.embedding_norm = make_norm("layernorm", config.d_model, config.norm_eps)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.pooler = nn.Linear(config.d_model, config.d_model) if config.pooler else None
        initialise(self, config.n_layers)

    def forward(
        self,
        tokens_bn: Tensor,
        *,
        valid_bn: Tensor | None = None,
        types_bn: Tensor | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> Tensor:
        """The last block's vectors (b, n, D).

        `valid_bn` marks real tokens in rows with padding (True = real): positions count only those, and
        padding is never looked at. `types_bn` says which segment a token belongs to; None: all to the
        first. Raises ValueError for more tokens than there are positions, and marks of other shapes.
        """
        b, n = tokens_bn.shape
        for name, marks in (("valid_bn", valid_bn), ("types_bn", types_bn)):
            if marks is not None and marks.shape != tokens_bn.shape:
                raise ValueError(f"{name} must mark each of the {b} x {n} tokens, not {tuple(marks.shape)}")
        pos = torch.arange(n, device=tokens_bn.device) if valid_bn is None else masks.positions(valid_bn)
        if n and int(pos.max()) >= self.config.context:
            raise ValueError(
                f"position {int(pos.max())} lies past the learned table of {self.config.context} positions"
            )
        mask = None if valid_bn is None else masks.padding(valid_bn)
        types_bn = torch.zeros_like(tokens_bn) if types_bn is None else types_bn
        x_bnD = self.positions.embed(self.embedding(tokens_bn) + self.types(types_bn), pos)
        x_bnD = self.drop(self.embedding_norm(x_bnD))
        if tap is not None:
            x_bnD = tap("embedding", x_bnD)
        for i, block in enumerate(self.blocks):
            inner = tap.at(f"blocks.{i}") if tap is not None else None
            x_bnD = block(x_bnD, mask=mask, backend=backend, tap=inner)
        return tap("final", x_bnD) if tap is not None else x_bnD

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        blocks = [names_under(f"blocks.{i}", Block.TAP_NAMES) for i in range(self.config.n_layers)]
        return ("embedding", *(name for names in blocks for name in names), "final")


def _block(c: BertConfig) -> Block:
    return Block(
        MultiHeadAttention(c.d_model, c.n_heads, dropout=c.dropout),
        FeedForward(c.d_model, c.d_inner, c.activation),
        (
            make_norm("layernorm", c.d_model, c.norm_eps),
            make_norm("layernorm", c.d_model, c.norm_eps),
        ),
        order="post",
        dropout=c.dropout,
    )
