"""What every Transformer that translates does with its parts; a family assembles them.

The encoder reads the whole source; the decoder writes the target causally, and each of its blocks reads the
encoder's last vectors, the memory (Vaswani et al. 2017, section 3.1).

Shapes: b batch, m source tokens, n new target tokens, D model width, V vocabulary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..nn import masks
from ..nn.attention import Backend, KeysValues
from ..nn.blocks import Block
from ..nn.masks import Mask
from ..nn.positions import Positions
from ..nn.state import KVState
from ..nn.tap import Tap, names_under
from .translator import Translator

FIRST_ROOM = 16  # target tokens that a new state has room for; it doubles by itself


@dataclass(frozen=True, eq=False)
class TranslationState:
    """Where a decoder stands: its own keys and values of the target so far, and for each of its blocks what
    attention makes of the memory once, for all steps."""

    cache: KVState
    memory: tuple[KeysValues, ...]
    valid: Tensor | None  # (b, m), True = a source token; None = all

    @property
    def batch(self) -> int:
        return self.cache.batch

    @property
    def length(self) -> int:
        """Target tokens so far."""
        return self.cache.length

    def reorder(self, rows: Tensor) -> "TranslationState":
        """The state whose row i is this one's row `rows[i]`; rows may repeat or be left out."""
        valid = None if self.valid is None else self.valid.index_select(0, rows)
        return TranslationState(
            self.cache.reorder(rows), tuple(part.reorder(rows) for part in self.memory), valid
        )


class Stack(nn.Module):
    """Blocks one above the other, the positions that they share, and the norm after the last."""

    def __init__(
        self, positions: Positions, blocks: Iterable[Block], final_norm: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.positions = positions
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm

    def forward(
        self,
        x_bnD: Tensor,
        places: tuple[Tensor, Tensor, Mask],
        memory: Sequence[Tensor | KeysValues | None],
        memory_mask: Mask = None,
        *,
        cache: KVState | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> Tensor:
        """`places`: of queries, of keys, and the mask between them; `memory`: one for each block. Raises
        ValueError past the last position."""
        q_pos, k_pos, mask = places
        limit = self.positions.limit
        if limit is not None and k_pos.numel() and int(k_pos.max()) >= limit:
            raise ValueError(
                f"position {int(k_pos.max())} lies past the {self.positions.limited_by} of {limit} positions"
            )
        x_bnD = self.drop(self.positions.embed(x_bnD, q_pos))
        x_bnD = tap("embedding", x_bnD) if tap is not None else x_bnD
        rotate, bias = self.positions.rotation(q_pos), self.positions.bias(q_pos, k_pos)
        for i, (block, read) in enumerate(zip(self.blocks, memory, strict=True)):
            x_bnD = block(
                x_bnD,
                read,
                mask=mask,
                memory_mask=memory_mask,
                rotate=rotate,
                bias=bias,
                cache=cache.layer(i) if cache is not None else None,
                backend=backend,
                tap=tap.at(f"blocks.{i}") if tap is not None else None,
            )
        x_bnD = self.final_norm(x_bnD)
        return tap("final", x_bnD) if tap is not None else x_bnD

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        names = [
            names_under(f"blocks.{i}", Block.TAP_NAMES if block.cross is None else Block.READING_TAP_NAMES)
            for i, block in enumerate(self.blocks)
        ]
        return ("embedding", *(name for of_block in names for name in of_block), "final")


class EncoderDecoder(Translator):
    """A stack that reads, a stack that writes. `scale` multiplies the embeddings of both, `head_scale` what
    the head reads."""

    def __init__(
        self,
        config: Any,
        encoder: Stack,
        decoder: Stack,
        *,
        scale: float = 1.0,
        head_scale: float = 1.0,
        head_bias: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.scale, self.head_scale = scale, head_scale
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder, self.decoder = encoder, decoder
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=head_bias)
        if config.tie_embeddings:
            self.head.weight = self.embedding.weight

    @property
    def longest(self) -> int | None:
        return self.encoder.positions.limit

    def forward(
        self,
        source_bm: Tensor,
        valid_bm: Tensor | None,
        target_in_bn: Tensor,
        *,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> Tensor:
        """Logits (b, n, V) for the token after each of `target_in_bn`: teacher forcing."""
        memory_bmD = self._memory(source_bm, valid_bm, backend, tap)
        read = [memory_bmD] * len(self.decoder.blocks)
        return self._logits(target_in_bn, read, valid_bm, None, backend, tap)

    def encode(
        self,
        source_bm: Tensor,
        valid_bm: Tensor | None = None,
        *,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> TranslationState:
        """What there is to know of the source, with the decoder at its beginning. `valid_bm` marks real
        tokens (True = real, default all); the rest is never seen, wherever in its row it stands."""
        memory_bmD = self._memory(source_bm, valid_bm, backend, tap)
        blocks: Any = self.decoder.blocks
        memory = tuple(block.cross.keys_values(memory_bmD) for block in blocks)
        own = blocks[0].attention
        cache = KVState.empty(
            *(len(memory), len(source_bm), own.n_kv_heads, own.d_head, FIRST_ROOM),
            device=memory_bmD.device,
            dtype=memory_bmD.dtype,
        )
        return TranslationState(cache, memory, valid_bm)

    def decode(
        self,
        target_in_bn: Tensor,
        state: TranslationState,
        *,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, TranslationState]:
        """Logits (b, n, V) for the token after each of these, and the state that has seen them. For running a
        model, without a gradient; `forward` is for training. Raises ValueError for a state of other rows."""
        if state.batch != len(target_in_bn):
            raise ValueError(f"the state holds {state.batch} rows, the target {len(target_in_bn)}")
        cache = state.cache.extended(target_in_bn.shape[1])
        logits_bnV = self._logits(target_in_bn, state.memory, state.valid, cache, backend, tap)
        return logits_bnV, TranslationState(cache, state.memory, state.valid)

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        stacks = [names_under(name, getattr(self, name).tap_names()) for name in ("encoder", "decoder")]
        return (*stacks[0], *stacks[1], "logits")

    def _memory(
        self, source_bm: Tensor, valid_bm: Tensor | None, backend: Backend, tap: Tap | None
    ) -> Tensor:
        if valid_bm is not None and valid_bm.shape != source_bm.shape:
            wanted = " x ".join(map(str, source_bm.shape))
            raise ValueError(f"valid_bm must mark each of the {wanted} tokens, not {tuple(valid_bm.shape)}")
        if valid_bm is None:
            pos, mask = torch.arange(source_bm.shape[1], device=source_bm.device), None
        else:
            pos, mask = masks.positions(valid_bm), masks.padding(valid_bm)
        x_bmD = self.embedding(source_bm) * self.scale
        tap = tap.at("encoder") if tap is not None else None
        nothing = [None] * len(self.encoder.blocks)
        memory_bmD: Tensor = self.encoder(x_bmD, (pos, pos, mask), nothing, backend=backend, tap=tap)
        return memory_bmD

    def _logits(
        self,
        target_in_bn: Tensor,
        memory: Sequence[Tensor | KeysValues],
        valid_bm: Tensor | None,
        cache: KVState | None,
        backend: Backend,
        tap: Tap | None,
    ) -> Tensor:
        n = target_in_bn.shape[1]
        places = masks.causal_places(n, n if cache is None else cache.length, device=target_in_bn.device)
        x_bnD = self.decoder(
            self.embedding(target_in_bn) * self.scale,
            places,
            memory,
            None if valid_bm is None else masks.padding(valid_bm),
            cache=cache,
            backend=backend,
            tap=tap.at("decoder") if tap is not None else None,
        )
        logits_bnV: Tensor = self.head(x_bnD * self.head_scale)
        return tap("logits", logits_bnV) if tap is not None else logits_bnV
