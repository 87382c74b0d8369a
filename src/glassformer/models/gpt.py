"""The decoder-only Transformer: a stack of causal blocks that predicts the next token.

Shapes: b batch, n new tokens, m all tokens (cached and new), D model width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from ..config import require_literals
from ..nn import masks
from ..nn.attention import Backend, MultiHeadAttention
from ..nn.blocks import Activation, Block, FeedForward, Norm, Order, initialise, make_norm
from ..nn.positions import BASE, Learned, Positions, RelativeBias, Rotary, RotaryStyle, Sinusoidal
from ..nn.state import KVState
from ..nn.tap import Tap, names_under


@dataclass(frozen=True)
class GPTConfig:
    """The shape of a GPT. `d_inner` None: 4 d_model, or 8/3 d_model for SwiGLU, which has a third matrix."""

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
        for name in ("vocab_size", "context", "n_layers", "n_heads", "d_model"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("norm_eps", "rotary_base"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        require_literals(self)
        if self.d_inner is not None and self.d_inner < 1:
            raise ValueError(f"d_inner must be at least 1, not {self.d_inner}")
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads} must divide d_model = {self.d_model}")
        if self.n_kv_heads is not None and (self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads):
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
        return 4 * self.d_model if self.activation != "swiglu" else 8 * self.d_model // 3


class GPT(nn.Module):
    """`logits, state = model(tokens, state)`; see `forward`."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = _positions(config)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.final_norm = (
            make_norm(config.norm, config.d_model, config.norm_eps, config.bias)
            if config.norm_order == "pre"
            else nn.Identity()  # a post-norm block already ends in a norm
        )
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_embeddings:
            self.head.weight = self.embedding.weight
        initialise(self, config.n_layers)

    def forward(
        self,
        tokens_bn: Tensor,
        state: KVState | None = None,
        *,
        valid_bn: Tensor | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, KVState | None]:
        """Logits (b, n, V) for the token after each of `tokens_bn`, and the state that has seen them.

        Pass `new_state(...)` to begin a cache and what comes back to go on; without a state, none is kept.
        `valid_bn` marks real tokens in rows with padding (True = real): positions count only those, and
        padding is never looked at. Raises ValueError past the last learned position, and for a state or a
        `valid_bn` of other rows.
        """
        b, n = tokens_bn.shape
        if state is not None and state.batch != b:
            raise ValueError(f"the state holds {state.batch} rows, the tokens {b}")
        if valid_bn is not None and valid_bn.shape != tokens_bn.shape:
            raise ValueError(f"valid_bn must mark each of the {b} x {n} tokens, not {tuple(valid_bn.shape)}")
        if state is not None:
            state = state.extended(n, valid_bn)
            valid_bm = state.valid
        else:
            valid_bm = valid_bn
        m = n if state is None else state.length
        q_pos, k_pos, mask = masks.causal_places(n, m, valid_bm, tokens_bn.device)
        self._check_limit(q_pos)

        x_bnD = self.drop(self.positions.embed(self.embedding(tokens_bn), q_pos))
        if tap is not None:
            x_bnD = tap("embedding", x_bnD)
        rotate, bias = self.positions.rotation(q_pos), self.positions.bias(q_pos, k_pos)
        for i, block in enumerate(self.blocks):
            x_bnD = block(
                x_bnD,
                mask=mask,
                rotate=rotate,
                bias=bias,
                cache=state.layer(i) if state is not None else None,
                backend=backend,
                tap=tap.at(f"blocks.{i}") if tap is not None else None,
            )
        x_bnD = self.final_norm(x_bnD)
        if tap is not None:
            x_bnD = tap("final", x_bnD)
        logits_bnV: Tensor = self.head(x_bnD)
        return (tap("logits", logits_bnV) if tap is not None else logits_bnV), state

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        blocks = [names_under(f"blocks.{i}", Block.TAP_NAMES) for i in range(self.config.n_layers)]
        return ("embedding", *(name for names in blocks for name in names), "final", "logits")

    def new_state(self, batch: int, capacity: int | None = None) -> KVState:
        """An empty state for `batch` rows, with room for `capacity` tokens (by default the context)."""
        c, weight = self.config, self.embedding.weight
        return KVState.empty(
            c.n_layers,
            batch,
            c.n_kv_heads or c.n_heads,
            c.d_head,
            capacity or c.context,
            device=weight.device,
            dtype=weight.dtype,
        )

    def _check_limit(self, q_pos: Tensor) -> None:
        limit = self.positions.limit
        if limit is not None and q_pos.shape[-1] and int(q_pos.max()) >= limit:
            raise ValueError(f"position {int(q_pos.max())} lies past the learned table of {limit} positions")


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
