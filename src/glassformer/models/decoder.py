"""What every Transformer decoder does with its parts; a family assembles them.

Shapes: b batch, n new tokens, m all tokens (cached and new), D model width, V vocabulary.
"""

from collections.abc import Iterable
from typing import Protocol

from torch import Tensor, nn

from ..nn import masks
from ..nn.attention import Backend
from ..nn.blocks import Block, initialise
from ..nn.positions import Positions
from ..nn.state import KVState
from ..nn.tap import Tap, names_under
from .language import LanguageConfig, LanguageModel


class DecoderConfig(LanguageConfig, Protocol):
    """What the configs of all decoder families have in common."""

    @property
    def n_heads(self) -> int: ...
    @property
    def n_kv_heads(self) -> int | None: ...
    @property
    def d_head(self) -> int: ...


class Decoder(LanguageModel):
    """A stack of causal blocks that predicts the next token: `logits, state = model(tokens, state)`."""

    config: DecoderConfig

    def __init__(
        self, config: DecoderConfig, positions: Positions, blocks: Iterable[Block], final_norm: nn.Module
    ) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = positions
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
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
        last_only: bool = False,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, KVState | None]:
        """Logits (b, n, V) for the token after each of `tokens_bn`, and the state that has seen them.

        Pass `new_state(...)` to begin a cache and what comes back to go on; without a state, none is kept.
        `valid_bn` marks real tokens in rows with padding (True = real): positions count only those, and
        padding is never looked at. With `last_only` the logits are the last token's alone, (b, 1, V): those
        of a whole prompt can take more memory than all else. Raises ValueError past the last position, and
        for a state or a `valid_bn` of other rows.
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
        self._check_limit(m if valid_bm is None else int(q_pos.max()) + 1 if n else 0)

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
        x_bnD = self.final_norm(x_bnD[:, -1:] if last_only else x_bnD)
        if tap is not None:
            x_bnD = tap("final", x_bnD)
        logits_bnV: Tensor = self.head(x_bnD)
        return (tap("logits", logits_bnV) if tap is not None else logits_bnV), state

    @property
    def window(self) -> int:
        return self.config.context

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

    def _check_limit(self, length: int) -> None:
        limit = self.positions.limit
        if limit is not None and length > limit:
            raise ValueError(
                f"position {length - 1} lies past the {self.positions.limited_by} of {limit} positions"
            )
