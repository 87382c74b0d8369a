"""BERT as an encoder: every token sees every other, and each comes out as a vector. Its heads say of such a
vector which token was hidden there, or which of some labels a whole text has.

Devlin et al. 2019, "BERT". Shapes: b batch, n tokens, D model width, V vocabulary, L labels.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ..config import require_literals
from ..nn import masks
from ..nn.attention import Backend, MultiHeadAttention
from ..nn.blocks import Block, FeedForward, Order, activated, initialise, make_norm
from ..nn.positions import Learned
from ..nn.tap import Tap, names_under
from .limits import require_sizes


@dataclass(frozen=True)
class BertConfig:
    """The shape of a BERT. `d_inner` None: 4 d_model; `n_types` kinds of segments. It may have a head that
    tells hidden tokens (`mlm`), whose last matrix is the embedding's, and one for `labels`, which reads the
    first token's vector through the pooler, or the mean of all. A `pooler` without labels is kept for
    export."""

    vocab_size: int
    context: int = 64
    n_layers: int = 4
    n_heads: int = 4
    d_model: int = 128
    d_inner: int | None = None
    activation: Literal["relu", "gelu", "gelu_tanh"] = "gelu"
    norm_order: Order = "post"
    norm_eps: float = 1e-12
    n_types: int = 1
    dropout: float = 0.0
    pooler: bool = False
    mlm: bool = False
    labels: tuple[str, ...] = ()
    pooling: Literal["cls", "mean"] = "cls"

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} must divide d_model = {self.d_model}")
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")
        if not all(isinstance(label, str) for label in self.labels) or len({*self.labels}) < len(self.labels):
            raise ValueError("labels must be texts, each once")
        if self.labels and self.pooling == "cls" and not self.pooler:
            raise ValueError("labels with pooling = cls need the pooler")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def inner(self) -> int:
        """The feed-forward's width."""
        return 4 * self.d_model if self.d_inner is None else self.d_inner


class MaskedHead(nn.Module):
    """output(norm(act(dense(x)))): scores of every token for a place, from the vector there."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(c.d_model, c.d_model)
        self.activation = activated(c.activation)
        self.norm = make_norm("layernorm", c.d_model, c.norm_eps)
        self.output = nn.Linear(c.d_model, c.vocab_size)

    def forward(self, x_D: Tensor) -> Tensor:
        logits_V: Tensor = self.output(self.norm(self.activation(self.dense(x_D))))
        return logits_V


class Bert(nn.Module):
    """`hidden = model(tokens)`, see `forward`; then `token_logits(hidden)` or `label_logits(hidden, valid)`
    where there is such a head."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = Learned(config.context, config.d_model)
        self.types = nn.Embedding(config.n_types, config.d_model)
        self.embedding_norm = make_norm("layernorm", config.d_model, config.norm_eps)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.final_norm = (
            make_norm("layernorm", config.d_model, config.norm_eps)
            if config.norm_order == "pre"
            else nn.Identity()  # a post-norm block already ends in a norm
        )
        self.pooler = nn.Linear(config.d_model, config.d_model) if config.pooler else None
        self.head = MaskedHead(config) if config.mlm else None
        if self.head is not None:
            self.head.output.weight = self.embedding.weight
        self.classifier = nn.Linear(config.d_model, len(config.labels)) if config.labels else None
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
        x_bnD = self.final_norm(x_bnD)
        return tap("final", x_bnD) if tap is not None else x_bnD

    def token_logits(self, hidden_D: Tensor) -> Tensor:
        """Scores (…, V) of the token at a place, from its vector (…, D). Raises ValueError without a head."""
        if self.head is None:
            raise ValueError("this encoder has no head that tells hidden tokens")
        logits_V: Tensor = self.head(hidden_D)
        return logits_V

    def label_logits(self, hidden_bnD: Tensor, valid_bn: Tensor | None = None) -> Tensor:
        """Scores (b, L) of the labels of texts. Raises ValueError without a head."""
        if self.classifier is None:
            raise ValueError("this encoder has no head that tells labels")
        if self.config.pooling == "mean":
            pooled_bD = mean_over(hidden_bnD, valid_bn)
        else:
            assert self.pooler is not None
            first_b = 0 if valid_bn is None else valid_bn.int().argmax(1)
            rows_b = torch.arange(len(hidden_bnD), device=hidden_bnD.device)
            pooled_bD = torch.tanh(self.pooler(hidden_bnD[rows_b, first_b]))
        logits_bL: Tensor = self.classifier(self.drop(pooled_bD))
        return logits_bL

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        blocks = [names_under(f"blocks.{i}", Block.TAP_NAMES) for i in range(self.config.n_layers)]
        return ("embedding", *(name for names in blocks for name in names), "final")


def _block(c: BertConfig) -> Block:
    return Block(
        MultiHeadAttention(c.d_model, c.n_heads, dropout=c.dropout),
        FeedForward(c.d_model, c.inner, c.activation),
        (
            make_norm("layernorm", c.d_model, c.norm_eps),
            make_norm("layernorm", c.d_model, c.norm_eps),
        ),
        order=c.norm_order,
        dropout=c.dropout,
    )


def mean_over(hidden_bnD: Tensor, valid_bn: Tensor | None = None) -> Tensor:
    """The mean (b, D) of each row's real tokens; zeros for a row without one."""
    if valid_bn is None:
        return hidden_bnD.mean(1)
    counts_b1 = valid_bn.sum(1, keepdim=True).clamp(min=1)
    return hidden_bnD.masked_fill(~valid_bn[..., None], 0).sum(1) / counts_b1
